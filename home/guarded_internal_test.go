package home

import (
	"path/filepath"
	"testing"
)

// A token is kept out of memories wherever it stands.
func TestATokenAfterWhatLooksLikeOneIsGuarded(t *testing.T) {
	h := &Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	text, _, err := h.MakeToken(NewToken{Name: "crm", Verbs: []string{VerbRead}})
	if err != nil {
		t.Fatal(err)
	}
	if !h.holdsToken([]byte("see " + text)) {
		t.Fatal("not even alone")
	}
	if !h.holdsToken([]byte("see " + tokenPrefix + "0123456789abcdef_" + text)) {
		t.Error("it is not seen behind the beginning of another")
	}
}
