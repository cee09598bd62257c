package policy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/seal"
)

// TestRulesDoNotJudgeWhatIsSealed gives values in the form of ciphertext to rules that would forbid, or permit, the
// plain ones.
func TestRulesDoNotJudgeWhatIsSealed(t *testing.T) {
	vault := keyfile.Vault(t.TempDir())
	sealed := func(v any) any {
		d, err := seal.For(vault, "ana", data(t, v))
		if err != nil {
			t.Fatal(err)
		}
		return d.Value()
	}
	evil := "https://evil.example"
	s := parse(t, guarded)
	a := begin(t, perdure.Genesis{})
	for name, args := range map[string]any{
		"text":         map[string]any{"url": sealed(evil)},
		"null":         map[string]any{"url": sealed(nil)},
		"nested":       map[string]any{"options": map[string]any{"force": sealed(true)}},
		"record":       map[string]any{"options": sealed(map[string]any{"force": true})},
		"number":       map[string]any{"cents": sealed(101)},
		"everything":   sealed(map[string]any{"url": evil}),
		"sealed twice": sealed(map[string]any{"url": sealed(evil)}),
		"looks sealed": map[string]any{"options": map[string]any{"$sealed": "no ciphertext"}},
		"beside others": map[string]any{"url": "https://good.example",
			"options": sealed(map[string]any{"force": true})},
	} {
		t.Run("forbid "+name, func(t *testing.T) {
			v := s.Decide(a, call(t, "http.post", perdure.Once, args), now)
			if v.Answer != perdure.Deny || v.Rules[0] != "policy.args" || !strings.Contains(v.Reason, "sealed") {
				t.Errorf("got %s by %v: %s, want a denial because it is sealed", v.Answer, v.Rules, v.Reason)
			}
		})
	}
	for name, args := range map[string]any{
		"not read":     map[string]any{"url": "https://good.example", "to": sealed("ana@example.com")},
		"next to read": map[string]any{"options": map[string]any{"force": false, "to": sealed("ana@example.com")}},
	} {
		if v := s.Decide(a, call(t, "http.post", perdure.Once, args), now); v.Answer != perdure.Allow {
			t.Errorf("%s: got %s by %v: %s", name, v.Answer, v.Rules, v.Reason)
		}
	}
	if v := s.Decide(a, call(t, "mail.send", perdure.Once, map[string]any{"url": sealed(evil)}),
		now); v.Answer != perdure.Allow {
		t.Errorf("a tool that no rule is about: got %s by %v: %s", v.Answer, v.Rules, v.Reason)
	}
}

func TestPermitsDoNotJudgeWhatIsSealed(t *testing.T) {
	vault := keyfile.Vault(t.TempDir())
	box, err := seal.For(vault, "ana", data(t, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	for name, when := range map[string]string{
		"equal":     `context.args has to && context.args.to == "ana"`,
		"not equal": `context.args has to && context.args.to != "evil"`,
		"unlike":    `context.args has to && !(context.args.to like "*evil*")`,
		"there":     `context.args has to`,
		"not there": `!(context.args has to)`,
		"below":     `context.args has to && context.args.to has name && context.args.to.name == "ana"`,
		"not below": `!(context.args has to && context.args.to has name)`,
		"one of":    `context.args has to && ["ana", "ben"].contains(context.args.to)`,
		"elements":  `context.args has list && context.args.list.contains("ana")`,
		"none in":   `context.args has list && !(context.args.list.contains("evil"))`,
		"empty":     `context.args has list && !(context.args.list.isEmpty())`,
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, `@id("p") permit (principal, action == Action::"execute", resource) when { `+when+` };`)
			args := map[string]any{"to": box.Value(), "list": []any{box.Value()}}
			if v := s.Decide(begin(t, perdure.Genesis{}), call(t, "mail.send", perdure.Once, args),
				now); v.Answer != perdure.Deny || v.Rules[0] != "policy.args" {
				t.Errorf("got %s by %v: %s, want a denial", v.Answer, v.Rules, v.Reason)
			}
		})
	}
}

func TestDecisionsAboutSealedArgumentsAreDerivedWithoutTheVault(t *testing.T) {
	vault := keyfile.Vault(t.TempDir())
	box, err := seal.For(vault, "ana", data(t, map[string]any{"name": "evil"}))
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, `@id("all") permit (principal, action, resource);
		@id("no-evil") forbid (principal, action == Action::"execute", resource == Tool::"write")
		when { context.args has to && context.args.to has name && context.args.to.name == "evil" };`)
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	store := new(perdure.MemStore)
	n := &perdure.Node{
		Store: store, Key: key, Policy: s, PolicyHash: s.Hash(), Vault: vault,
		Tools: []perdure.Tool{tool{perdure.Spec{Name: "write", Effect: perdure.Once}},
			tool{perdure.Spec{Name: "read", Effect: perdure.Read}}},
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				args := data(t, map[string]any{"to": box.Value()})
				if a.Fold().Turns == 0 {
					return perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "write", Args: args},
						perdure.Execute{Tool: "read", Args: args}}}, nil
				}
				return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
			})},
	}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "write"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	if a, err = perdure.Load(t.Context(), store, a.ID()); err != nil {
		t.Fatal(err)
	}
	signal := func(name string) perdure.Signal { return a.Fold().Tool(name).Last[0].Signal }
	if signal("write") != perdure.Denied || signal("read") != perdure.OK {
		t.Errorf("got %s and %s, want the one a rule would read denied, the other done", signal("write"),
			signal("read"))
	}
	if err := vault.Erase("ana"); err != nil { // nobody can open it any more
		t.Fatal(err)
	}
	if v, err := new(policy.Set).Verify(perdure.Memory(t.Context(), store, a.ID()), nil); err != nil || !v.OK() ||
		v.Derived != 3 {
		t.Errorf("got %+v and %v, want every decision derived", v, err)
	}
}
