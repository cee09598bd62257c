package home_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/home"
)

// The file of a token that lies under the id of another is no token: that one may have been taken back.
func TestATokenIsTheOneOfItsID(t *testing.T) {
	t.Parallel()
	h := &home.Home{Dir: t.TempDir()}
	text, made, err := h.MakeToken(home.NewToken{Name: "ci", Verbs: []string{home.VerbRead}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Unlock(text, time.Now()); err != nil {
		t.Fatal(err)
	}
	const other = "00000000000000aa"
	dir := filepath.Join(h.Dir, "tokens")
	if err := os.Rename(filepath.Join(dir, made.ID+".json"), filepath.Join(dir, other+".json")); err != nil {
		t.Fatal(err)
	}
	secret := text[len("perdure_"+made.ID):]
	for _, text := range []string{text, "perdure_" + other + secret} {
		if token, _, err := h.Unlock(text, time.Now()); err == nil {
			t.Errorf("it unlocks token %s", token.ID)
		}
	}
}
