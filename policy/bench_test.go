package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// twenty is twenty rules of the usual sort, three of them about arguments.
func twenty() string {
	var b strings.Builder
	b.WriteString(`@id("all") permit (principal, action, resource);
		@id("path") forbid (principal, action == Action::"execute", resource == Tool::"fs.write") when { context.args has path && context.args.path like "/etc/*" };
		@id("size") forbid (principal, action == Action::"execute", resource == Tool::"fs.write") when { context.args has size && context.args.size > 1000000 };
		@id("url") forbid (principal, action == Action::"execute", resource == Tool::"http.post") when { context.args has url && context.args.url like "*internal*" };
	`)
	for i := range 16 {
		fmt.Fprintf(&b, `@id("r%02d") forbid (principal, action == Action::"execute", resource) when { context.spent.cost + context.reserved.cost > %d || (context.tainted && context.toolCalls.hour > %d) };`+"\n", i, 1_000_000+i, 100+i)
	}
	return b.String()
}

func benchRequest(b *testing.B) (*perdure.Agent, perdure.Request) {
	calls := int64(1000)
	a := begin(b, perdure.Genesis{Intent: perdure.Intent{Budget: &perdure.Budget{Calls: &calls},
		Labels: map[string]string{"stage": "prod"}}, Charter: perdure.Charter{Depth: 2}})
	return a, call(b, "fs.write", perdure.Once, map[string]any{"path": "/srv/a.txt", "size": int64(5),
		"text": strings.Repeat("x", 200)})
}

// BenchmarkDecide is a whole decision: facts from the fold, their hash, their types, every rule.
func BenchmarkDecide(b *testing.B) {
	for name, s := range map[string]*policy.Set{"default": policy.Default(), "20 rules": parse(b, twenty())} {
		b.Run(name, func(b *testing.B) {
			a, r := benchRequest(b)
			b.ReportAllocs()
			for b.Loop() {
				if v := s.Decide(a, r, now); v.Answer == perdure.Deny {
					b.Fatal(v.Reason)
				}
			}
		})
	}
}

func BenchmarkFacts(b *testing.B) {
	a, r := benchRequest(b)
	b.ReportAllocs()
	for b.Loop() {
		f, err := policy.FactsOf(a, r, now)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Hash(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRawCedar is the same rules without what makes them safe: no types, no hash, errors passed over. Its request
// is made once, or anew for each decision.
func BenchmarkRawCedar(b *testing.B) {
	rules, err := cedar.NewPolicySetFromBytes("raw.cedar", []byte(twenty()))
	if err != nil {
		b.Fatal(err)
	}
	amounts := func() cedar.Record {
		return cedar.NewRecord(cedar.RecordMap{"cost": cedar.Long(0), "tokens": cedar.Long(0), "calls": cedar.Long(0)})
	}
	rate := func() cedar.Record {
		return cedar.NewRecord(cedar.RecordMap{"minute": cedar.Long(0), "hour": cedar.Long(0), "total": cedar.Long(0)})
	}
	request := func() cedar.Request {
		return cedar.Request{
			Principal: cedar.NewEntityUID("Agent", "a"), Action: cedar.NewEntityUID("Action", "execute"),
			Resource: cedar.NewEntityUID("Tool", "fs.write"),
			Context: cedar.NewRecord(cedar.RecordMap{
				"now": cedar.NewDatetime(now), "weekday": cedar.Long(1), "age": cedar.Long(1),
				"node": cedar.NewEntityUID("Key", "k"), "approvals": cedar.Long(0), "depth": cedar.Long(0),
				"tainted": cedar.False, "turns": cedar.Long(0), "denials": cedar.Long(0), "spent": amounts(),
				"reserved": amounts(), "left": amounts(), "open": cedar.Long(0),
				"children": cedar.Long(0), "calls": rate(), "tool": cedar.String("fs.write"),
				"effect": cedar.NewEntityUID("Effect", "once"), "toolCalls": rate(), "failures": cedar.Long(0),
				"args": cedar.NewRecord(cedar.RecordMap{"path": cedar.String("/srv/a.txt"), "size": cedar.Long(5),
					"text": cedar.String(strings.Repeat("x", 200))}),
			}),
		}
	}
	b.Run("20 rules", func(b *testing.B) {
		req := request()
		b.ReportAllocs()
		for b.Loop() {
			if d, _ := cedar.Authorize(rules, nil, req); d != cedar.Allow {
				b.Fatal(d)
			}
		}
	})
	b.Run("20 rules and the request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if d, _ := cedar.Authorize(rules, nil, request()); d != cedar.Allow {
				b.Fatal(d)
			}
		}
	})
}

// BenchmarkVerify derives the decisions of a memory without snapshots again, each the first of its commit or each after
// an advice in the same one: the cost of a decision is to be the same however long the memory is.
func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, together := range []bool{false, true} {
			b.Run(fmt.Sprintf("decisions=%d/together=%v", n, together), func(b *testing.B) {
				s, memory := policy.Default(), decided(b, n, together)
				for b.Loop() {
					v, err := s.Verify(joined(nil, memory), nil)
					if err != nil || v.Derived != n || !v.OK() {
						b.Fatal(v, err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/decision")
			})
		}
	}
}

// decided is a memory of n advices and the decisions about them.
func decided(b *testing.B, n int, together bool) []*perdure.Entry {
	s := policy.Default()
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		b.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Charter: perdure.Charter{Scope: "test"}}, now)
	if err != nil {
		b.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		b.Fatal(err)
	}
	memory := []*perdure.Entry{g}
	x := perdure.Sleep{Trigger: perdure.On{Event: "go"}}
	for i := range n {
		at := now.Add(time.Duration(i) * time.Second)
		advice := perdure.Draft{Body: perdure.Advice{Actions: []perdure.Action{x}}}
		entries, next, err := key.Commit(a, at, advice)
		if err != nil {
			b.Fatal(err)
		}
		if !together {
			memory, a = append(memory, entries...), next
		}
		v := s.Decide(next, perdure.Request{Action: x, Node: key.Key()}, at)
		decision := perdure.Draft{Body: perdure.Decision{Action: x, Verdict: v}}
		if together {
			entries, a, err = key.Commit(a, at, advice, decision)
		} else {
			entries, a, err = key.Commit(a, at, decision)
		}
		if err != nil {
			b.Fatal(err)
		}
		memory = append(memory, entries...)
	}
	return memory
}
