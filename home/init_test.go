package home

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/policy"
)

// noModels is an environment in which there is no provider and no server.
func noModels(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENAI_BASE_URL",
		StoreEnv} {
		t.Setenv(name, "")
	}
	t.Setenv("OLLAMA_HOST", "127.0.0.1:1") // nobody listens there
}

func initAt(t *testing.T, dir string, set Setup) *Begun {
	t.Helper()
	h := &Home{URL: dir, Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	b, err := h.Init(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestInitLeavesWhatIsThere(t *testing.T) {
	noModels(t)
	dir := filepath.Join(t.TempDir(), "home")
	first := initAt(t, dir, Setup{})
	if len(first.Kept) != 0 || !slices.Contains(first.Made, NodeFileName) {
		t.Errorf("got %+v, want everything made", first)
	}
	mine := []byte("# mine\n")
	for _, name := range []string{NodeFileName, firstPolicy, firstScript, ".gitignore"} {
		if err := os.WriteFile(filepath.Join(dir, name), mine, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := initAt(t, dir, Setup{Advisor: "anthropic:some-model", Files: t.TempDir()})
	if len(second.Made) != 0 || second.Key != first.Key {
		t.Errorf("got %+v the second time, want nothing made", second)
	}
	for _, name := range []string{NodeFileName, firstPolicy, firstScript, ".gitignore"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != string(mine) {
			t.Errorf("%s was written over: %s %v", name, b, err)
		}
	}
}

// TestTheFirstPolicyAnswersAsTheBuiltInOne, rule by rule.
func TestTheFirstPolicyAnswersAsTheBuiltInOne(t *testing.T) {
	noModels(t)
	dir := filepath.Join(t.TempDir(), "home")
	initAt(t, dir, Setup{})
	set, err := policy.LoadPaths(filepath.Join(dir, firstPolicy))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Rules(), policy.Default().Rules(); !slices.Equal(got, want) {
		t.Errorf("got rules %q, want %q", got, want)
	}
	// The example in its comments must load, too.
	text := strings.NewReplacer("// @id(\"no-network\")", "@id(\"no-network\")", "// @reason(\"nothing leaves",
		"@reason(\"nothing leaves",
		"// forbid (principal", "forbid (principal", "// when { context.tool", "when { context.tool").
		Replace(policyHeadText + policy.DefaultText() + policyMoreText)
	path := filepath.Join(t.TempDir(), "more.cedar")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err = policy.LoadPaths(path)
	if err != nil || !slices.Contains(set.Rules(), "no-network") {
		t.Errorf("the example of the first policy does not load: %v", err)
	}
}

func TestInitFindsAModelOnThisMachine(t *testing.T) {
	noModels(t)
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"data":[{"id":"nomic-embed-text:latest"},{"id":"llama3.2:latest"},{"id":"other"}]}`))
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []struct{ env, value, key, want, path string }{
		{"OLLAMA_HOST", host, "", "openai:llama3.2:latest@" + server.URL + "/v1", "/v1/models "},
		{"OLLAMA_HOST", server.URL + "/", "", "openai:llama3.2:latest@" + server.URL + "/v1", "/v1/models "},
		{"OPENAI_BASE_URL", server.URL + "/v2", "", "openai:llama3.2:latest@" + server.URL + "/v2", "/v2/models "},
		{"OPENAI_BASE_URL", server.URL + "/v2", "k", "openai:llama3.2:latest@" + server.URL + "/v2#OPENAI_API_KEY",
			"/v2/models Bearer k"},
	} {
		t.Run(c.env+c.key, func(t *testing.T) {
			t.Setenv(c.env, c.value)
			t.Setenv("OPENAI_API_KEY", c.key)
			b := initAt(t, filepath.Join(t.TempDir(), "home"), Setup{})
			if b.Advisor != c.want || asked != c.path {
				t.Errorf("got %s, asked %q; want %s, asked %q", b.Advisor, asked, c.want, c.path)
			}
			if _, err := new(Powers).thinker(b.Advisor, nil); err != nil {
				t.Errorf("it cannot be used: %v", err)
			}
		})
	}
}

func TestWhereOllamaIs(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"": "http://127.0.0.1:11434/v1", "0.0.0.0": "http://127.0.0.1:11434/v1", ":8080": "http://127.0.0.1:8080/v1",
		"gpu": "http://gpu:11434/v1", "https://gpu:443/": "https://gpu:443/v1", "[::1]:9": "http://[::1]:9/v1",
		"::": "http://127.0.0.1:11434/v1",
	} {
		if got := ollamaURL(host); got != want {
			t.Errorf("OLLAMA_HOST=%s: got %s, want %s", host, got, want)
		}
	}
}
