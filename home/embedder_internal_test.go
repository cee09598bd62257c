package home

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestTheKeyOfEmbeddingsIsFoundWhereThoseOfAdvisorsAre has it among the secrets, in the environment, and nowhere.
func TestTheKeyOfEmbeddingsIsFoundWhereThoseOfAdvisorsAre(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"data":[{"index":0,"embedding":[1,2]}]}`))
	}))
	t.Cleanup(server.Close)
	secrets := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(secrets, []byte("EMBED_KEY=of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ secrets, env, want string }{
		{secrets, "of-the-environment", "Bearer of-the-file"},
		{"", "of-the-environment", "Bearer of-the-environment"},
		{"", "", ""},
	} {
		t.Setenv("EMBED_KEY", c.env)
		asked = ""
		e, err := (&NodeFile{Embeddings: "tiny@" + server.URL + "/v1#EMBED_KEY", Secrets: c.secrets}).embedder()
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Embed(t.Context(), []string{"a text"})
		hint, told := errors.AsType[*perdure.Hint](err)
		if asked != c.want || (err == nil) != (c.want != "") {
			t.Errorf("asked with %q, want %q: %v", asked, c.want, err)
		}
		if err != nil && (!told || !strings.Contains(hint.Do, "add a line EMBED_KEY=")) {
			t.Errorf("without a key: %v, want a hint that says where it is looked for", err)
		}
	}
}
