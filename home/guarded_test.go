package home

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestEverySecretOfAHomeIsKnownToItsGuard has each in a text, wherever it comes from.
func TestEverySecretOfAHomeIsKnownToItsGuard(t *testing.T) {
	hook := func(c string) string {
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(c, 16)))
	}
	h := hookedHome(t, `
secrets: secrets
advisors: {oa: "openai:g@http://127.0.0.1:9/v1#GUARDED_LLM"}
hooks:
  - {name: ana, secret: "file:hook.secret", approver: ana, key: people/ana}
  - {name: e, secrets: ["env:GUARDED_HOOK"]}
  - {name: gone, secret: "env:GUARDED_NOT_SET"}
notify:
  - {name: s, slack: "env:GUARDED_SLACK"}
  - {name: m, mail: {server: "smtp.example.com:587", from: a@b.c, to: [o@b.c], user: u, password: "file:mail.pw"}}
peers:
  - {name: b, url: "http://127.0.0.1:9", token: "file:peer.tok", every: 1h}
telemetry: {endpoint: "http://127.0.0.1:9", headers: {Authorization: "env:GUARDED_OTLP"}}
`)
	want := map[string]string{
		"hook by file":             "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32))),
		"hook by env":              hook("ab"),
		"without prefix":           strings.TrimPrefix(hook("ab"), "whsec_"),
		"slack":                    "https://hooks.slack.com/services/T0000/B0000/xyzxyzxyz",
		"mail":                     "mailpassABCDEF123456",
		"peer":                     "tokenOfAnotherServer0123456789",
		"telemetry":                "otlpheadervalue123456",
		"otel":                     "otelhdr VALUE123456",
		"model":                    "llmkeyvalue0123456789",
		"advisor by flag":          "flagkeyvalue0123456789",
		"token of the environment": "perdure_anotherservers0123456789",
	}
	for name, value := range map[string]string{"GUARDED_LLM": want["model"], "GUARDED_HOOK": want["hook by env"],
		"GUARDED_SLACK": want["slack"], "GUARDED_OTLP": want["telemetry"], "GUARDED_FLAG": want["advisor by flag"],
		otlpHeaders: "x=otelhdr%20VALUE123456", TokenEnv: want["token of the environment"]} {
		t.Setenv(name, value)
	}
	for name, value := range map[string]string{"mail.pw": want["mail"], "peer.tok": want["peer"]} {
		if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key, err := os.ReadFile(filepath.Join(h.Dir, peopleDir, "ana"))
	if err != nil {
		t.Fatal(err)
	}
	want["a person's key"] = strings.SplitN(strings.TrimSpace(string(key)), "+", 5)[4]
	if want["token"], _, err = h.MakeToken(NewToken{Name: "crm", Verbs: []string{VerbRead}}); err != nil {
		t.Fatal(err)
	}
	if want["link"], _, err = h.MakeToken(NewToken{Name: "crm", Verbs: []string{VerbApprove},
		Link: &Bound{}}); err != nil {
		t.Fatal(err)
	}
	g, err := h.guardOf(t.Context(), nil, nil, "openai:m@http://127.0.0.1:9/v1#GUARDED_FLAG")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		d, err := perdure.DataOf(map[string]any{"k": "see " + value + " there"})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(d); err == nil {
			t.Errorf("%s: it may be recorded", name)
		} else if strings.Contains(err.Error(), value) {
			t.Errorf("%s: the error repeats it", name)
		}
	}
	other := strings.ToUpper(want["token"][:len(want["token"])-1]) // nobody's
	if err := g.Check([]byte("ordinary text, perdure_ and " + tokenPrefix + other)); err != nil {
		t.Errorf("text without any: %v", err)
	}
}
