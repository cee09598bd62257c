package home

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
)

// hookedHome is a home with a person's key and a node.yaml.
func hookedHome(t *testing.T, yaml string) *Home {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h := &Home{URL: filepath.Join(dir, "store.db")}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.makeKey("node"); err != nil {
		t.Fatal(err)
	}
	ana, err := perdure.GenerateSigner("ana")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, peopleDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := keyfile.Write(filepath.Join(dir, peopleDir, "ana"), ana); err != nil {
		t.Fatal(err)
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))
	for name, text := range map[string]string{"node.yaml": yaml, "hook.secret": secret + "\n",
		"secrets": "CRM=" + strings.ReplaceAll(secret, "c3Nz", "eHh4") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestHooksAreReadWithTheirSecretsAndKeys(t *testing.T) {
	h := hookedHome(t, `
secrets: secrets
hooks:
  - {name: ana, secret: "file:hook.secret", approver: ana, key: people/ana}
  - {name: crm, secret: CRM, scope: acme}
`)
	got, err := h.Webhooks(t.Context(), &Desk{Home: h, Store: new(perdure.MemStore)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Hooks) != 2 || got.Hooks[0].Person == nil || got.Hooks[0].Person.Name != "ana" ||
		got.Hooks[1].Person != nil || got.Hooks[1].Scope != "acme" {
		t.Errorf("hooks: %+v", got.Hooks)
	}
}

func TestHooksThatCouldNotBeToldApartOrVoteForThemselvesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"the home's own key": {`{name: a, secret: "file:hook.secret", approver: node, key: key}`,
			"approve what they propose themselves"},
		"another's key": {`{name: a, secret: "file:hook.secret", approver: bob, key: people/ana}`,
			"key is that of ana"},
		"an approver, no key": {`{name: a, secret: "file:hook.secret", approver: ana}`, "belong together"},
		"no secret":           {`{name: a}`, "want a name and a secret"},
		"the secret itself":   {`{name: a, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}`, "not the secret"},
		"an unset variable":   {`{name: a, secret: "env:PERDURE_NO_SUCH"}`, "PERDURE_NO_SUCH"},
		"an unknown secret":   {`{name: a, secret: NOPE}`, "no secret NOPE"},
		"one secret for two": {`{name: a, secret: "file:hook.secret"}, {name: b, secret: "file:hook.secret"}`,
			"same secret"},
		"one name for two":         {`{name: a, secret: "file:hook.secret"}, {name: a, secret: CRM}`, "has that name"},
		"a file that is not there": {`{name: a, secret: "file:nope"}`, "nope"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hookedHome(t, "secrets: secrets\nhooks: ["+c.yaml+"]\n")
			_, err := h.Webhooks(t.Context(), &Desk{Home: h, Store: new(perdure.MemStore)})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "MfKQ9r8G") {
				t.Errorf("got %v, want one about %q", err, c.want)
			}
		})
	}
	h := hookedHome(t, "hooks: [{name: a, secret: \"file:hook.secret\"}]\n")
	if err := os.Chmod(filepath.Join(h.Dir, "hook.secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Webhooks(t.Context(), &Desk{Home: h, Store: new(perdure.MemStore)}); err == nil ||
		!strings.Contains(err.Error(), "others can read") {
		t.Errorf("a secret that others can read: %v", err)
	}
}

// TestEveryNodeFileOfThePageIsRead reads what docs/webhooks.md shows, with the secrets and keys it names.
func TestEveryNodeFileOfThePageIsRead(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile("(?s)```yaml [a-z./]*node.yaml\n(.*?)\n```").FindAllSubmatch(page, -1)
	if len(all) < 3 {
		t.Fatalf("the page has %d files, want 3", len(all))
	}
	secret := func(c string) string {
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(c, 32)))
	}
	t.Setenv("SLACK_URL", "https://hooks.slack.com/services/x")
	for _, m := range all {
		h := hookedHome(t, string(m[1]))
		for name, text := range map[string]string{"secrets.env": "CRM_SECRET=" + secret("c") + "\nOPS_SECRET=" +
			secret("o") + "\nMAIL_PASSWORD=x\n", "people/ana.secret": secret("a")} {
			if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(filepath.Join(h.Dir, "people", "ana"),
			filepath.Join(h.Dir, "people", "ana.key")); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Webhooks(t.Context(), &Desk{Home: h, Store: new(perdure.MemStore)}); err != nil {
			t.Error(err)
		}
		if _, err := h.Notifier(&perdure.Node{}, nil); err != nil {
			t.Error(err)
		}
	}
}
