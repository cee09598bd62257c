package tool_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

func guardOf(t testing.TB, secrets tool.SecretMap) *tool.Guard {
	t.Helper()
	g, err := tool.NewGuard(t.Context(), secrets, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestNoSpellingOfASecretPassesTheGuard(t *testing.T) {
	guard := guardOf(t, tool.SecretMap{"TOKEN": token, "OTHER": "another secret altogether"})
	quoted, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain": "the token is " + token + ".", "alone": token, "JSON": `{"a":` + string(quoted) + `}`,
		"query": "?t=" + url.QueryEscape(token), "path": "/" + url.PathEscape(token),
		"hex": hex.EncodeToString([]byte(token)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(token))),
		"base64":     base64.StdEncoding.EncodeToString([]byte(token)),
		"basic auth": "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+token)),
		"shifted":    base64.RawURLEncoding.EncodeToString([]byte("x" + token + "yz")),
		"other":      "another secret altogether",
	} {
		err := guard.Check(data(t, map[string]any{"text": text}))
		if err == nil || !strings.Contains(err.Error(), "secret:") || strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want a refusal that names the secret and not its value", name, err)
		}
	}
	for _, text := range []string{"", "secret:TOKEN", token[:len(token)-1], "nothing of the kind",
		strings.Repeat("s3cr3t", 100)} {
		if err := guard.Check(data(t, map[string]any{"text": text})); err != nil {
			t.Errorf("%q: got %v, want it to pass", text, err)
		}
	}
}

func TestASecretIsFoundWhereverItStands(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		secret := rapid.StringMatching(`[ -~]{6,40}`).Draw(r, "secret")
		before, after := rapid.String().Draw(r, "before"), rapid.String().Draw(r, "after")
		guard := guardOf(t, tool.SecretMap{"X": secret, "Y": "unrelated-value"})
		if guard.Check([]byte(before+secret+after)) == nil {
			r.Fatalf("%q passes in %q", secret, before+secret+after)
		}
		if len(secret) < 8 {
			return
		}
		if in := base64.StdEncoding.EncodeToString([]byte(before + secret + after)); guard.Check([]byte(in)) == nil {
			r.Fatalf("%q passes in base64 %q", secret, in)
		}
	})
}

func TestShortSecretsAreLeftOutAndSaidToBe(t *testing.T) {
	var log strings.Builder
	g, err := tool.NewGuard(t.Context(), tool.SecretMap{"PIN": "12345"}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check([]byte("12345")); err != nil {
		t.Errorf("got %v, want it to pass", err)
	}
	if !strings.Contains(log.String(), "PIN") || strings.Contains(log.String(), "12345") {
		t.Errorf("logged %q, want the name and not the value", log.String())
	}
}

// A tool that shows what it was given in a way that is not redacted is stopped by the guard: the outcome is recorded
// without the result.
func TestWhatGetsPastTheToolIsStoppedByTheGuard(t *testing.T) {
	secrets := tool.SecretMap{"TOKEN": token}
	leak := &probe{result: func() (perdure.Result, error) { return perdure.Result{Data: data(t, "it is "+token)}, nil }}
	node := nodeWith(t, leak, perdure.Execute{Tool: "probe"}) // without WithSecrets
	node.Guard = guardOf(t, secrets)
	if _, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "use " + token},
		Charter: perdure.Charter{Scope: "test"}}); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("an agent with a secret in its goal: %v", err)
	}
	a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "leak"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for e, err := range perdure.Memory(t.Context(), node.Store, a.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), token) {
			t.Errorf("%s holds the secret", e.Kind)
		}
		if o, ok := e.Content().(perdure.Outcome); ok {
			seen++
			if !strings.Contains(o.Note, "TOKEN") {
				t.Errorf("the outcome %+v does not say why its result is missing", o)
			}
		}
	}
	if seen != 1 {
		t.Errorf("%d outcomes, want one", seen)
	}
}

// brokenSecrets cannot be listed.
type brokenSecrets struct{ tool.SecretMap }

func (brokenSecrets) Secrets(context.Context) (map[string]string, error) {
	return nil, errors.New("locked")
}

func TestSecretsThatCannotBeHadAreAnError(t *testing.T) {
	if _, err := tool.NewGuard(t.Context(), brokenSecrets{}, nil); err == nil {
		t.Error("a guard that knows nothing is no guard")
	}
}

func BenchmarkGuard(b *testing.B) {
	secrets := tool.SecretMap{}
	for i := range 20 {
		secrets[string(rune('A'+i))] = strings.Repeat(string(rune('a'+i)), 20) + "0123456789"
	}
	g := guardOf(b, secrets)
	body := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := g.Check(body); err != nil {
			b.Fatal(err)
		}
	}
}
