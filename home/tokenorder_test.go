package home_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/home"
)

// A person's key is trusted only once a token that unlocks it is kept: if that fails, the name is still free.
func TestAPersonWhoseTokenIsNotKeptIsNotTrusted(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	order := func(name string) error {
		_, _, err := h.OrderToken(home.TokenOrder{NewToken: home.NewToken{Name: name}, Life: "1h", IsPerson: true})
		return err
	}
	if err := order("ben"); err != nil { // the home is there, and has tokens
		t.Fatal(err)
	}
	tokens := filepath.Join(h.Dir, "tokens")
	if err := os.Rename(tokens, tokens+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tokens, nil, 0o600); err != nil { // nothing can be kept in it
		t.Fatal(err)
	}
	if err := order("anna"); err == nil {
		t.Fatal("a token was kept in a file")
	}
	trust, err := h.Trust()
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range trust.Trustees() {
		if who.Name == "anna" {
			t.Error("a key is trusted that nobody can use")
		}
	}
	if err := os.Remove(tokens); err != nil {
		t.Fatal(err)
	}
	if err := order("anna"); err != nil {
		t.Errorf("her name is taken: %v", err)
	}
}
