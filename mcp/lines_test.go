package mcp_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// A line that is no message, or too long, is refused, and the next one answered. Where the line shows the id of a
// request, the refusal has it: otherwise whoever sent it would wait for an answer.
func TestAMalformedLineDoesNotEndTheServer(t *testing.T) {
	inWorld(t, func(w *world) {
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- w.server.Serve(t.Context(), fromClient, toClient) }()
		answers, long := bufio.NewScanner(fromServer), strings.Repeat("x", 16<<20)
		for _, one := range []struct{ line, want string }{
			{`{"jsonrpc": oops`, "-32700"},
			{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"` + "\xff" + `"}}`, "-32700"},
			{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"\ud800"}}`, `"id":1,"error":{"code":-32700`},
			{`{"jsonrpc":"2.0","id":"a","method":7}`, `"id":"a","error":{"code":-32600`},
			{`{"hello": 1, "id": {"a": 1}}`, `"id":null,"error":{"code":-32600`},
			{`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"name":"` + long + `"}}`,
				`"id":7,"error":{"code":-32600`},
			{`{"method":"ping","params":{"id":5,"name":"` + long + `"},"jsonrpc":"2.0","id":8}`,
				`"id":8,"error":{"code":-32600`},
			{`{"method":"ping","params":{"name":"` + long + `","id":5}}`, `"id":null,"error":{"code":-32600`},
			{`{"method":"ping","params":{"name":"` + long + `,\"id\":5}"}}`, `"id":null,"error":{"code":-32600`},
			// the id of an answer is that of a request of the server
			{`{"jsonrpc":"2.0","id":3,"result":{"name":"\ud800"}}`, `"id":null,"error":{"code":-32700`},
			{`{"jsonrpc":"2.0","id":3,"result":{"name":"` + long + `"}}`, `"id":null,"error":{"code":-32600`},
			{`{"result":{"name":"` + long + `"},"jsonrpc":"2.0","id":3}`, `"id":null,"error":{"code":-32600`},
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
