package home_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/home"
)

func TestATokenIsReadWithoutWhatIsAroundIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"perdure_a_b": "perdure_a_b", "\tperdure_a_b\r\n": "perdure_a_b",
		"perdure_a b": "", "perdure_a\rb": "", "perdure_a\x00": "", "perdure_ä": "", "a\nb": ""} {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for from, read := range map[string]func() (string, error){
			"token":          func() (string, error) { return home.ReadToken(file, "other") },
			"$PERDURE_TOKEN": func() (string, error) { return home.ReadToken("", text) },
		} {
			got, err := read()
			switch {
			case want != "" && (err != nil || got != want):
				t.Errorf("%q from %s: got %q, %v", text, from, got, err)
			case want == "" && (err == nil || !strings.Contains(err.Error(), from)):
				t.Errorf("%q from %s: got %q, %v; want an error that names it", text, from, got, err)
			}
		}
	}
	if got, err := home.ReadToken("", ""); got != "" || err != nil {
		t.Errorf("without one: got %q, %v", got, err)
	}
}
