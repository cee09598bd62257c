package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
)

// echo is a tool that returns its arguments, or fails if they say so, and counts its calls.
type echo struct {
	mu    sync.Mutex
	calls []string
	set   map[string]perdure.Data
}

func (*echo) Spec() perdure.Spec { return perdure.Spec{Name: "echo", Effect: perdure.Read} }

func (e *echo) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	e.mu.Lock()
	e.calls = append(e.calls, string(c.Args.JSON()))
	e.mu.Unlock()
	if m, ok := c.Args.Value().(map[string]any); ok && m["fail"] == true {
		return perdure.Result{}, errors.New("told to fail")
	}
	return perdure.Result{Data: c.Args, Set: e.set}, nil
}

// allow permits everything.
func allow(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
	return perdure.Verdict{Answer: perdure.Allow}
}

// nodeKey is the key of every node here: a process that is started again has the key it had.
var nodeKey = sync.OnceValues(func() (*perdure.Signer, error) { return perdure.GenerateSigner("node") })

func newNode(t testing.TB, s perdure.Store, adv perdure.Advisor, tools ...perdure.Tool) *perdure.Node {
	t.Helper()
	key, err := nodeKey()
	if err != nil {
		t.Fatal(err)
	}
	return &perdure.Node{Store: s, Key: key, Tools: tools, Advisors: map[string]perdure.Advisor{"": adv},
		Policy: perdure.PolicyFunc(allow)}
}

func create(t testing.TB, n *perdure.Node, inputs any) perdure.AgentID {
	t.Helper()
	in, err := perdure.DataOf(inputs)
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Create(t.Context(), perdure.Genesis{
		Intent: perdure.Intent{Goal: "try", Inputs: in}, Charter: perdure.Charter{Scope: "test", Owner: n.Key.Key(),
			Depth: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

func load(t testing.TB, n *perdure.Node, id perdure.AgentID) *perdure.Agent {
	t.Helper()
	a, err := perdure.Load(t.Context(), n.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func read(t testing.TB, text string) *script.Advisor {
	t.Helper()
	s, err := script.Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play runs a script on a new agent until it rests.
func play(t testing.TB, text string, inputs any, tools ...perdure.Tool) *perdure.Agent {
	t.Helper()
	n := newNode(t, new(perdure.MemStore), read(t, text), tools...)
	id := create(t, n, inputs)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return load(t, n, id)
}

// ended checks how an agent ended.
func ended(t testing.TB, a *perdure.Agent, signal perdure.Signal, result string, note ...string) {
	t.Helper()
	end := a.Fold().Ended
	if end == nil {
		t.Fatal("the agent has not ended")
	}
	if end.Signal != signal || string(end.Result.JSON()) != result {
		t.Errorf("got %s, %s (%s), want %s, %s", end.Signal, end.Result.JSON(), end.Note, signal, result)
	}
	for _, part := range note {
		if !strings.Contains(end.Note, part) {
			t.Errorf("got note %q, want %q in it", end.Note, part)
		}
	}
}

func TestAScriptProposesItsTurnsInOrder(t *testing.T) {
	e := new(echo)
	a := play(t, `
turns:
  - execute: {tool: echo, args: {n: 1, list: [a, {b: 2.5}], page: "${inputs.page}", yes: true, none: null}}
    as: first
  - do:
      - execute: {tool: echo, args: {n: "${results.first.result.n}", t: "n is ${results.first.result.n}, ${results.first.result.list.1.b}"}}
        as: second
      - execute: {tool: echo, args: {literal: "$${inputs}", whole: "${results.first.result.list}"}}
    text: "turn ${turn} of ${goal}"
  - when: results.second.signal == "failed"
    end: {signal: failed}
  - when: turns == 2 && turn == 4 && last.signal == "ok"
    execute: {tool: echo, args: {by: "${turn}"}}
  - end: {signal: partial, result: {n: "${results.second.result.n}"}, note: "done with ${inputs.page}"}
`, map[string]any{"page": "x"}, e)
	ended(t, a, perdure.Partial, `{"n":1}`, "done with x")
	want := map[string]bool{
		`{"list":["a",{"b":2.5}],"n":1,"none":null,"page":"x","yes":true}`: true,
		`{"n":1,"t":"n is 1, 2.5"}`:                                        true,
		`{"literal":"${inputs}","whole":["a",{"b":2.5}]}`:                  true,
		`{"by":4}`: true,
	}
	got := map[string]bool{}
	for _, c := range e.calls {
		got[c] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text := false
	for entry := range a.Recent() {
		if adv, ok := entry.Content().(perdure.Advice); ok && adv.Text == "turn 2 of try" {
			text = true
		}
	}
	if !text {
		t.Error("the text of a turn is not in its advice")
	}
}

func TestATurnIsRepeatedWhileItsConditionHolds(t *testing.T) {
	e := new(echo)
	a := play(t, `
turns:
  - execute: {tool: echo, args: {round: "${round}"}}
    repeat: 3
  - when: round < 3
    repeat: 10
    execute: {tool: echo, args: {while: "${round}"}}
  - when: vars.absent > 1
    end: {signal: failed}
`, nil, e)
	ended(t, a, perdure.OK, "null", "the script is over")
	if diff := cmp.Diff([]string{`{"round":1}`, `{"round":2}`, `{"round":3}`, `{"while":1}`, `{"while":2}`},
		e.calls); diff != "" {
		t.Error(diff)
	}
}

func TestAnyNodeGoesOnWithAScript(t *testing.T) {
	const text = `
turns:
  - execute: {tool: echo, args: {n: "${round}"}}
    as: step
    repeat: 40
  - mutate: {goal: "at ${results.step.result.n}", note: halfway}
  - execute: {tool: echo, args: {goal: "${goal}", n: "${results.step.result.n}"}}
    as: check
  - end: {result: "${results.check.result}"}
`
	store := new(perdure.MemStore)
	e := new(echo)
	var id perdure.AgentID
	for life := 0; ; life++ {
		s := read(t, text) // a new process every three cycles
		s.Store = store
		n := newNode(t, store, s, e)
		n.SnapshotEvery = 8 // so that earlier entries are not held
		if life == 0 {
			id = create(t, n, nil)
		}
		for range 3 {
			if _, err := n.Cycle(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if a := load(t, n, id); a.Fold().Ended != nil {
			ended(t, a, perdure.OK, `{"goal":"at 40","n":40}`)
			break
		}
		if life > 200 {
			t.Fatal("the agent does not come to its end")
		}
	}
	want := make([]string, 0, 41)
	for i := range 40 {
		want = append(want, fmt.Sprintf(`{"n":%d}`, i+1))
	}
	if diff := cmp.Diff(append(want, `{"goal":"at 40","n":40}`), e.calls); diff != "" {
		t.Error(diff)
	}
}

func TestAScriptWithoutItsStoreIsIncapableAndLosesNoTurn(t *testing.T) {
	const text = `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: first}
  - {execute: {tool: echo, args: {n: 2}}, repeat: 20}
  - end: {result: "${results.first.result.n}"}
`
	store := new(perdure.MemStore)
	bare := newNode(t, store, read(t, text), new(echo))
	bare.SnapshotEvery, bare.CacheSize = 4, -1
	id := create(t, bare, nil)
	for range 200 {
		if step, err := bare.Cycle(t.Context(), id); err != nil {
			t.Fatal(err)
		} else if idle, ok := step.(perdure.Idle); ok {
			if idle.Needs == "" {
				t.Fatalf("got %+v, want it to be incapable", idle)
			}
			break
		}
	}
	s := read(t, text)
	s.Store = store
	able := newNode(t, store, s, new(echo))
	key, err := perdure.GenerateSigner("able")
	if err != nil {
		t.Fatal(err)
	}
	able.Key, able.Trust = key, perdure.NewTrust(perdure.Trustee{Key: bare.Key.Key(), Rights: perdure.MayOwn,
		Scope: perdure.AnyScope})
	if _, err := able.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, able, id), perdure.OK, "1")
}

func TestAScriptSleepsUntilWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polled := &echo{}
		n := newNode(t, new(perdure.MemStore), read(t, `
turns:
  - {sleep: {after: 1h, note: a nap}, as: nap}
  - {sleep: {on: {event: paid, filter: event.data.amount > 10}}, as: paid}
  - {sleep: {any: [{after: 1000h}, {all: [{on: early}, {after: 1m}]}]}, as: either}
  - {sleep: {every: {interval: 10s, poll: {tool: echo, args: {state: done}}, until: 'result.state == "done"'}}}
  - {sleep: {at: 2000-01-02T00:00:00Z}}
  - end: {result: {nap: "${results.nap.signal}", paid: "${results.paid.result.amount}", event: "${results.either.event}"}}
`), polled)
		id := create(t, n, nil)
		tell := func(name string, amount int) {
			d, err := perdure.DataOf(map[string]any{"amount": amount})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: name, Data: d}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		tell("early", 0) // before the sleep that waits for it
		time.Sleep(2 * time.Hour)
		tell("paid", 5)
		time.Sleep(time.Hour)
		if a := load(t, n, id); a.Fold().Ended != nil || a.Fold().Sleep == nil {
			t.Error("an event that the filter refuses woke the agent")
		}
		tell("paid", 50)
		time.Sleep(48 * time.Hour)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		ended(t, load(t, n, id), perdure.OK, `{"event":"early","nap":"ok","paid":50}`)
		if len(polled.calls) != 1 {
			t.Errorf("got %d polls, want 1", len(polled.calls))
		}
	})
}

func TestAScriptDelegatesAndHearsOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, new(perdure.MemStore), read(t, `
turns:
  - delegate: {goal: "look at ${inputs.what}", advisor: kid, inputs: {n: "${inputs.what}"}, budget: {calls: 3}, tools: [echo], labels: {a: b}, deadline: 2999-01-01T00:00:00Z}
    as: kid
  - sleep: {child: "${results.kid.child}"}
  - end: {result: {got: "${results.kid.result}", signal: "${results.kid.signal}"}}
`), new(echo))
		n.Advisors["kid"] = read(t, `turns: [{end: {signal: partial, result: "${inputs.n}"}}]`)
		id := create(t, n, map[string]any{"what": "this"})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(time.Hour)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		ended(t, load(t, n, id), perdure.OK, `{"got":"this","signal":"partial"}`)
	})
}

func TestAScriptWaitsForEnoughChildren(t *testing.T) {
	for _, c := range []struct{ sleep, want string }{
		{`children: all`, `["ok","failed","ok"]`},
		{`children: any`, `["ok","ok","ok"]`}, // what is not waited for is as it was when it began
		{`children: "quorum:2"`, `["ok","failed","ok"]`},
		{`children: first-failure`, `["ok","failed","ok"]`},
		{`children: {enough: all, of: ["${results.a.child}"]}`, `["ok","ok","ok"]`},
		{`any: [{children: all}, {after: 90m}]`, `["ok","ok","ok"]`},
	} {
		t.Run(c.sleep, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, new(perdure.MemStore), read(t, `
turns:
  - do:
      - {as: a, delegate: {goal: a, advisor: kid, inputs: {wait: 1, signal: ok}}}
      - {as: b, delegate: {goal: b, advisor: kid, inputs: {wait: 2, signal: failed}}}
      - {as: c, delegate: {goal: c, advisor: kid, inputs: {wait: 3, signal: ok}}}
  - sleep: {`+c.sleep+`}
  - end: {result: ["${results.a.signal}", "${results.b.signal}", "${results.c.signal}"]}
`))
				n.Advisors["kid"] = perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice,
					error) {
					in, _ := a.Fold().Intent.Inputs.Value().(map[string]any)
					if a.Fold().Turns == 0 {
						wait, _ := in["wait"].(int64)
						sleep := perdure.Sleep{Trigger: perdure.After{Millis: wait * time.Hour.Milliseconds()}}
						return perdure.Advice{Actions: []perdure.Action{sleep}}, nil
					}
					end := perdure.End{Signal: perdure.OK}
					if in["signal"] == "failed" {
						end.Signal = perdure.Failed
					}
					return perdure.Advice{Actions: []perdure.Action{end}}, nil
				})
				id := create(t, n, nil)
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- n.Run(ctx) }()
				time.Sleep(24 * time.Hour)
				stop()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				ended(t, load(t, n, id), perdure.OK, c.want)
			})
		})
	}
}

func TestRefusalsAndFailuresAreResults(t *testing.T) {
	s := read(t, `
turns:
  - {execute: {tool: echo, args: {fail: true}}, as: bad}
  - {execute: {tool: forbidden}, as: no}
  - end: {result: ["${results.bad.signal}", "${results.bad.note}", "${results.no.signal}", "${last.note}"]}
`)
	n := newNode(t, new(perdure.MemStore), s, new(echo), forbidden{})
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "forbidden" {
			return perdure.Verdict{Reason: "not that"}
		}
		return perdure.Verdict{Answer: perdure.Allow}
	})
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, id), perdure.OK, `["failed","told to fail","denied","not that"]`)
}

type forbidden struct{}

func (forbidden) Spec() perdure.Spec { return perdure.Spec{Name: "forbidden", Effect: perdure.Once} }

func (forbidden) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{}, errors.New("called")
}

// TestAScriptEndsWithoutAPolicy: a node that has none lets nothing be done, and nothing keeps an agent from ending.
func TestAScriptEndsWithoutAPolicy(t *testing.T) {
	n := newNode(t, new(perdure.MemStore),
		read(t, `turns: [{execute: {tool: echo}, as: it}, {end: {result: "${results.it.signal}"}}]`), new(echo))
	n.Policy = nil
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, id), perdure.OK, `"denied"`)
}

func TestATemplateThatReadsWhatIsNotThereEndsTheAgent(t *testing.T) {
	for path, want := range map[string]string{
		"inputs.none": "there is no none; there are list, n", "inputs.list.7": "no element 7 of 1",
		"inputs.list.x": "no element x",
		"inputs.n.deep": "not an object", "last.result": "there is no result",
	} {
		a := play(t, "turns:\n  - end: {}\n    when: \"false\"\n  - execute: {tool: echo, args: ['${"+path+"}']}\n",
			map[string]any{"list": []any{1}, "n": 1}, new(echo))
		ended(t, a, perdure.Failed, "null", "line 4", "turn 2", path, want)
	}
}

func TestABadScriptIsRefusedWithItsLine(t *testing.T) {
	long := strings.Repeat("x", script.MaxSize)
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "empty"},
		"only a comment": {"# nothing\n", "empty"},
		"not YAML":       {"turns:\n  - {", "line"},
		"not an object":  {"- a", "line 1"},
		"no turns":       {"turns: []", "no turns"},
		"turns of text":  {"turns: a", "list"},
		"unknown at top": {"turn: []\nturns: [{end: {}}]", `line 1: unknown field "turn"`},
		"two documents":  {"turns: [{end: {}}]\n---\nturns: []", "more than one document"},
		"no action":      {"turns:\n  - {}\n", "line 2: there is no action"},
		"two actions":    {"turns:\n  - end: {}\n    execute: {tool: a}\n", "two actions"},
		"unknown action": {"turns:\n  - end: {}\n  - wake: {}\n", "turn 2: line 3: there is no action called wake"},
		"unknown field": {"turns:\n  - end: {}\n  - execute:\n      tool: a\n      arg: {}\n",
			`line 5: unknown field "arg"`},
		"missing tool":         {"turns:\n  - execute: {args: {}}\n", "tool is missing"},
		"given twice":          {"turns:\n  - end: {}\n    end: {}\n", "line 3: end is given twice"},
		"bad signal":           {"turns:\n  - end: {signal: fine}\n", `signal is "fine"`},
		"bad duration":         {"turns:\n  - sleep:\n      after: soon\n", "line 3: after"},
		"negative duration":    {"turns:\n  - sleep: {after: -1s}\n", "after"},
		"a number as duration": {"turns:\n  - sleep: {after: 5}\n", "duration"},
		"bad time":             {"turns:\n  - sleep: {at: 2027-01-31}\n", "at is"},
		"two triggers":         {"turns:\n  - sleep: {after: 1s, on: x}\n", "two triggers"},
		"no trigger":           {"turns:\n  - sleep: {note: x}\n", "there is no trigger"},
		"empty any":            {"turns:\n  - sleep: {any: []}\n", "any has no triggers"},
		"bad condition":        {"turns:\n  - sleep: {when: 'vars.'}\n", "line 2"},
		"bad filter":           {"turns:\n  - sleep: {on: {event: a, filter: 'nope > 1'}}\n", "nope"},
		"bad until":            {"turns:\n  - sleep: {every: {interval: 1s, poll: {tool: a}, until: '('}}\n", "line 2"},
		"no interval": {"turns:\n  - sleep: {every: {poll: {tool: a}, until: 'true'}}\n",
			"interval is missing"},
		"bad word":             {"turns:\n  - sleep: {children: most}\n", "want all, any, quorum:N or first-failure"},
		"bad quorum":           {"turns:\n  - sleep: {children: 'quorum:0'}\n", "at least 1"},
		"no children":          {"turns:\n  - sleep: {children: {enough: any, of: []}}\n", "of has no children"},
		"bad children":         {"turns:\n  - sleep: {children: {enough: any, of: [abc]}}\n", "id of an agent"},
		"only children":        {"turns:\n  - sleep: {children: {of: [abc]}}\n", "enough is missing"},
		"bad child":            {"turns:\n  - sleep: {child: abc}\n", "id of an agent"},
		"bad when":             {"turns:\n  - when: clock > 1\n    end: {}\n", "clock"},
		"when reads the clock": {"turns:\n  - when: now > now\n    end: {}\n", "now"},
		"repeat 0":             {"turns:\n  - repeat: 0\n    end: {}\n", "line 2: repeat"},
		"repeat -1":            {"turns:\n  - repeat: -1\n    end: {}\n", "repeat"},
		"repeat text":          {"turns:\n  - repeat: often\n    end: {}\n", "repeat is text"},
		"bad name":             {"turns:\n  - as: a-b\n    end: {}\n", "as is"},
		"too short a stale": {"turns:\n  - end: {}\n    recheck: [{tool: a}]\n    stale: 4s\n",
			"line 4: stale is 4s"},
		"do and action":     {"turns:\n  - do: [{end: {}}]\n    end: {}\n", "unknown field"},
		"empty do":          {"turns:\n  - do: []\n", "do is a list"},
		"call is ours":      {"turns:\n  - execute: {tool: a, call: mine}\n", "call is not"},
		"unclosed template": {"turns:\n  - end: {note: '${inputs'}\n", "closing brace"},
		"unknown root":      {"turns:\n  - end: {note: '${env.HOME}'}\n", "there is no env"},
		"unnamed result":    {"turns:\n  - end: {result: ['${results.x.result}']}\n", "named x"},
		"empty path":        {"turns:\n  - end: {note: '${}'}\n", "not a path"},
		"alias":             {"turns:\n  - &a {end: {}}\n  - *a\n", "line 3: aliases"},
		"merge":             {"turns:\n  - <<: {end: {}}\n", "line 2"},
		"bad tag":           {"turns:\n  - end: {result: !!set {a}}\n", "line 2"},
		"bad scope":         {"turns:\n  - mutate: {scope: 'a//b'}\n", "scope"},
		"negative budget":   {"turns:\n  - mutate: {budget: {cost: -1}}\n", "cost"},
		"no goal":           {"turns:\n  - delegate: {name: a}\n", "goal is missing"},
		"label number":      {"turns:\n  - delegate: {goal: a, labels: {x: 1}}\n", "label x"},
		"too long":          {"turns: [{end: {note: " + long + "}}]", "longer than"},
		"too deep": {"turns: [{end: {result: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) +
			"}}]", "nested deeper"},
		"bomb": {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c " +
			"[*b,*b,*b,*b,*b,*b,*b]\nturns: [{end: {result: [*c,*c,*c]}}]", "aliases"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := script.Load(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "script: ") {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func FuzzLoadScript(f *testing.F) {
	f.Add("turns:\n  - execute: {tool: a, args: {b: '${inputs.c}'}}\n    as: x\n    repeat: 2\n  - end: {result: " +
		"'${results.x.result}'}\n")
	f.Add("turns: [{sleep: {any: [{after: 1s}, {on: a}]}}, {mutate: {goal: b}}, {delegate: {goal: c}}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Load(strings.NewReader(text))
		if err == nil && !s.Instant() {
			t.Error("a script is instant")
		}
	})
}
