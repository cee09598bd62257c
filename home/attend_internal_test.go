package home

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// A node goes on by the policy it began with; that the files say another one by now is logged once, and doctor says it.
func TestANodeSaysThatThePolicyFilesHaveChanged(t *testing.T) {
	t.Parallel()
	h := &Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	if err := h.MakeHome(); err != nil {
		t.Fatal(err)
	}
	set, err := LoadPolicy(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	w := h.watchPolicy(&perdure.Node{PolicyHash: set.Hash()}, slog.New(slog.NewTextHandler(&text, nil)))
	w.look()
	if text.Len() > 0 {
		t.Errorf("nothing changed: %s", &text)
	}
	leave, ours, err := h.attend(set.Hash())
	if err != nil || !ours {
		t.Fatalf("attend: %v, %v", ours, err)
	}
	if by := h.attendedBy(); by != set.Hash() {
		t.Errorf("the node goes by %s, want %s", by.Short(), set.Hash().Short())
	}
	dir := filepath.Join(h.Dir, PolicyDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const rule = "@id(\"none\")\nforbid (principal, action, resource);\n"
	if err := os.WriteFile(filepath.Join(dir, "none.cedar"), []byte(rule), 0o600); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.look()
	if got := strings.Count(text.String(), "the policy files have changed"); got != 1 {
		t.Errorf("it is said %d times: %s", got, &text)
	}
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	if by := h.attendedBy(); !by.IsZero() {
		t.Errorf("no node runs, and it goes by %s", by.Short())
	}
}
