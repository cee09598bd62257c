package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// conditions are true, false and erring ones, of facts and of arguments.
var conditions = []string{
	`context.age >= 60`, `context.tainted`, `!context.tainted`, `context.turns * 4611686018427387904 > 1`,
	`principal in Scope::"test"`, `principal.child`,
	`context.effect == Effect::"read"`, `context.spent.cost > 50`, `context.left has cost && context.left.cost < 10`,
	`context.args has n && context.args.n > 5`,
	`context.args has s && context.args.s like "*x*"`, `context.toolCalls.hour > 3`, `true`,
}

// drawRule draws a rule about calls.
func drawRule(t *rapid.T, id string, kinds ...string) string {
	notes, effect := "", rapid.SampledFrom(kinds).Draw(t, "kind")
	if effect == "ask" {
		who := rapid.SampledFrom([]string{"", "ops", "ops,sec", "me,you"}).Draw(t, "who")
		later := rapid.SampledFrom([]string{"", ";escalate=30m:lead"}).Draw(t, "later")
		notes = fmt.Sprintf(`@obligation("approval:%s;quorum=%d;expires=%dh%s")`, who,
			rapid.IntRange(1, 3).Draw(t, "quorum"), rapid.IntRange(1, 5).Draw(t, "hours"), later)
		effect = "forbid"
	}
	word := rapid.SampledFrom([]string{"when", "unless"}).Draw(t, "word")
	return fmt.Sprintf("@id(%q) %s %s (principal, action == Action::\"execute\", resource) %s { %s };\n", id, notes,
		effect, word, rapid.SampledFrom(conditions).Draw(t, "condition"))
}

// drawRules draws rules; one permits everything half of the time, or little would ever be allowed.
func drawRules(t *rapid.T, kinds ...string) string {
	var b strings.Builder
	if rapid.Bool().Draw(t, "open") {
		b.WriteString("@id(\"open\") permit (principal, action, resource);\n")
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
		b.WriteString(drawRule(t, fmt.Sprintf("r%d", i), kinds...))
	}
	return b.String()
}

// drawFacts draws the facts of a call.
func drawFacts(t *rapid.T) policy.Facts {
	f := policy.Sample("execute")
	with(f, "tainted", rapid.Bool().Draw(t, "tainted"))
	with(f, "turns", rapid.Int64Range(0, 3).Draw(t, "turns"))
	with(f, "age", rapid.Int64Range(0, 100).Draw(t, "age"))
	with(f, "effect", rapid.SampledFrom([]string{"read", "once"}).Draw(t, "effect"))
	with(f, "spent", map[string]any{"cost": rapid.Int64Range(0, 100).Draw(t, "cost"), "tokens": int64(0),
		"calls": int64(0)})
	if rapid.Bool().Draw(t, "limited") {
		with(f, "left", map[string]any{"cost": rapid.Int64Range(0, 20).Draw(t, "left")})
	}
	with(f, "args", rapid.SampledFrom([]map[string]any{{}, {"n": int64(9)}, {"n": "9"}, {"s": "axb", "n": int64(1)},
		{"N": int64(9)}}).Draw(t, "args"))
	return f
}

func parseRapid(t *rapid.T, text string) *policy.Set {
	s, err := policy.Parse(policy.File{Name: "drawn.cedar", Text: []byte(text)})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// noWider reports whether a permits no more than b.
func noWider(a, b perdure.Verdict) bool {
	if a.Answer != b.Answer || a.Answer != perdure.Ask {
		return a.Answer <= b.Answer
	}
	subset := !slices.ContainsFunc(b.Asked, func(who string) bool { return !slices.Contains(a.Asked, who) })
	return a.Quorum >= b.Quorum && subset && a.Expires <= b.Expires
}

// noneElse reports whether those who approve for a are as many of those whom b asks as b wants, whoever does, if every
// word stands for one person.
func noneElse(a, b perdure.Verdict) bool {
	if b.Answer != perdure.Ask || a.Answer != perdure.Ask {
		return true
	}
	later := func(v perdure.Verdict) string { return fmt.Sprint(v.Escalate) }
	if len(a.Escalate) > 0 && later(a) != later(b) {
		return false
	}
	others := int64(0)
	for _, who := range a.Asked {
		if len(b.Asked) > 0 && !slices.Contains(b.Asked, who) {
			others++
		}
	}
	return a.Quorum-others >= b.Quorum
}

func TestAddingAForbidNeverAllowsMore(t *testing.T) {
	seen := map[perdure.Answer]int{}
	rapid.Check(t, func(t *rapid.T) {
		text := drawRules(t, "permit", "forbid", "ask")
		more := text + drawRule(t, rapid.SampledFrom([]string{"a", "r1x", "z"}).Draw(t, "id"), "forbid", "ask")
		f := drawFacts(t)
		before, after := parseRapid(t, text).DecideFacts(f), parseRapid(t, more).DecideFacts(f)
		seen[before.Answer]++
		if !noWider(after, before) {
			t.Fatalf("from %+v to %+v with\n%s", before, after, more)
		}
	})
	for _, a := range []perdure.Answer{perdure.Deny, perdure.Ask, perdure.Allow} {
		if seen[a] == 0 {
			t.Errorf("no drawn policy ever said %s: the test tests little", a)
		}
	}
}

func TestOwnPolicyNeverAllowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		local, own := parseRapid(t, drawRules(t, "permit", "forbid", "ask")),
			parseRapid(t, drawRules(t, "permit", "permit", "forbid", "ask"))
		f := drawFacts(t)
		before := local.DecideFacts(f)
		f["policies"] = []any{own.Hash().String()}
		if after := local.Know(own).DecideFacts(f); !noWider(after, before) || !noneElse(after, before) {
			t.Fatalf("from %+v to %+v", before, after)
		}
	})
}

func TestVerdictsAreTheSameEveryTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, f := drawRules(t, "permit", "forbid", "ask"), drawFacts(t)
		first := parseRapid(t, text).DecideFacts(f)
		for range 3 {
			again := parseRapid(t, text).DecideFacts(clone(map[string]any(f)).(map[string]any))
			if fmt.Sprint(again) != fmt.Sprint(first) {
				t.Fatalf("%+v, then %+v", first, again)
			}
		}
	})
}

func TestSetsAndFactsAreSharedBetweenGoroutines(t *testing.T) {
	f := full("execute")
	want := fmt.Sprint(strict.DecideFacts(f))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := fmt.Sprint(strict.DecideFacts(f)); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				strict.ExplainFacts(f)
			}
		})
	}
	wg.Wait()
}
