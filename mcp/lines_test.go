package mcp_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// A line that is no message is refused, and the next one answered.
func TestAMalformedLineDoesNotEndTheServer(t *testing.T) {
	inWorld(t, func(w *world) {
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- w.server.Serve(t.Context(), fromClient, toClient) }()
		answers := bufio.NewScanner(fromServer)
		for _, one := range []struct{ line, want string }{
			{`{"jsonrpc": oops`, "-32700"},
			{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"` + "\xff" + `"}}`, "-32700"},
			{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"\ud800"}}`, "-32700"},
			{`{"hello": 1}`, "-32600"},
			{`[]`, "-32600"},
			{`[1]`, "-32600"},
			{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
				`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"id":1`},
		} {
			if _, err := io.WriteString(toServer, one.line+"\n"); err != nil {
				t.Fatal(err)
			}
			if !answers.Scan() || !strings.Contains(answers.Text(), one.want) {
				t.Fatalf("%s is answered %q, want %s", one.line, answers.Text(), one.want)
			}
		}
		_ = toServer.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
