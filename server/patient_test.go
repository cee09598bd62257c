package server_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// late serves the same with a time for answers, from the request on, that is over when the first byte is written.
func (w *world) late() {
	s := httptest.NewUnstartedServer(w.server.Handler(context.Background()))
	s.Config.ConnContext, s.Config.WriteTimeout = server.LocalConn, time.Nanosecond
	s.Start()
	w.t.Cleanup(s.Close)
	w.url = s.URL
}

// What takes longer to send than an answer may take is answered all the same.
func TestAnImportThatTakesLongerThanAnAnswerMayIsAnswered(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.agent("a")
	var capsule bytes.Buffer
	if _, err := w.client(all, nil).Export(t.Context(), &capsule, "a", "", ""); err != nil {
		t.Fatal(err)
	}
	w.late()
	if _, err := w.client(all, nil).Import(t.Context(), bytes.NewReader(capsule.Bytes()), false); err != nil {
		t.Errorf("import: %v", err)
	}
	w.call(all, "POST", "/v1/agents/a/verify", nil, 200, new(client.Verified))
}

// A person thinks for longer than an answer may take to be written.
func TestAPersonMayThinkThroughMCP(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			w := withMCP(t)
			_, ana := w.person("ana")
			text, _ := w.mcpToken(ana)
			id, digest := w.asking()
			w.late()
			args := map[string]any{"agent": id.String(), "digest": digest.String()}
			said, failed := (&caller{w: w, http: bearing(text), version: version}).call("approve", args)
			if failed || !strings.Contains(said, "approves") {
				t.Errorf("got %v %s", failed, said)
			}
		})
	}
}
