package perdure

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/phase"
)

var everything = Capabilities{All: true}

// here is a node with tool x (of the given class) and an advisor for agents that name none.
func here(e Effect, reconciles bool) Capabilities {
	return Capabilities{Node: people["ann"].key, Advisors: []string{""},
		Tools: map[string]Spec{"x": {Name: "x", Effect: e, Reconciles: reconciles}}}
}

// planned holds the step Plan says against its type, twice: the same input gives the same step.
func planned[S Step](t *testing.T, d *dag, c Capabilities, now time.Time) S {
	t.Helper()
	a := d.agent()
	got := Plan(a, c, now)
	if diff := cmp.Diff(got, Plan(a, c, now)); diff != "" {
		t.Fatalf("Plan says two things:\n%s", diff)
	}
	s, ok := got.(S)
	if !ok {
		t.Fatalf("got %T %+v, want %T", got, got, s)
	}
	return s
}

func later(d time.Duration) time.Time { return epoch.Add(d) }

func proposes(actions ...Action) Body { return Advice{Actions: actions} }

// decided is a decision about the first proposal of an advice.
func decided(advice string, v Answer, change ...func(*Decision)) func(*dag) Body {
	return func(d *dag) Body {
		dec := Decision{Advice: d.name(advice), Verdict: Verdict{Answer: v}, Effect: Once,
			Deadline: TimeOf(later(time.Minute))}
		for _, c := range change {
			c(&dec)
		}
		return dec
	}
}

func class(e Effect) func(*Decision) { return func(d *Decision) { d.Effect = e } }

func ended(decision string, s Signal, change ...func(*Outcome)) func(*dag) Body {
	return func(d *dag) Body {
		o := Outcome{Decision: d.name(decision), Signal: s}
		for _, c := range change {
			c(&o)
		}
		return o
	}
}

func TestCycleGoesFromAdviceToOutcome(t *testing.T) {
	call := Execute{Tool: "x"}
	d := lineage(t, "G")
	planned[consultStep](t, d, here(Once, false), epoch)
	d = lineage(t, "G -> A", says("A", proposes(call, call)))
	if s := planned[decideStep](t, d, here(Once, false), epoch); s.Advice != d.name("A") || s.Index != 0 ||
		toolOf(s.Action) != "x" {
		t.Errorf("got %+v", s)
	}
	d = lineage(t, "G -> A -> D", says("A", proposes(call, call)), saysOf("D", decided("A", Deny)))
	if s := planned[decideStep](t, d, here(Once, false), epoch); s.Index != 1 {
		t.Errorf("got %+v, want the second proposal after the first was denied", s)
	}
	d = lineage(t, "G -> A -> D -> O", says("A", proposes(call)), saysOf("D", decided("A", Allow)),
		saysOf("O", ended("D", OK)))
	planned[consultStep](t, d, here(Once, false), epoch)
	d = lineage(t, "G -> A", says("A", proposes()))
	if s := planned[Idle](t, d, here(Once, false), epoch); !s.Is(phase.RestSilent) || s.Until != 0 {
		t.Errorf("got %+v", s)
	}
	d = lineage(t, "G -> A -> E", says("A", proposes()))
	planned[consultStep](t, d, here(Once, false), epoch)
	d = lineage(t, "G -> A", says("A", proposes(Execute{Tool: "y"})))
	if s := planned[Idle](t, d, here(Once, false), epoch); s.Needs != "y" {
		t.Errorf("got %+v, want to say what this node lacks", s)
	}
	d = lineage(t, "G", begins(Genesis{Intent: Intent{Goal: "g", Advisor: "other"}, Charter: Charter{Scope: "acme"}}))
	if s := planned[Idle](t, d, here(Once, false), epoch); s.Needs == "" {
		t.Errorf("got %+v, want to say which advisor is missing", s)
	}
	d = lineage(t, "G", begins(Genesis{Intent: Intent{Goal: "g", Deadline: TimeOf(later(time.Hour))},
		Charter: Charter{Scope: "acme"}}))
	if s := planned[finishStep](t, d, here(Once, false), later(time.Hour)); s.End.Signal != TimedOut {
		t.Errorf("got %+v", s)
	}
	d = lineage(t, "G -> E", says("E", allowed(End{Signal: OK})))
	planned[Idle](t, d, everything, epoch)
}

func TestWhatChangesTheAgentWaitsForWhatIsUnderWay(t *testing.T) {
	d := lineage(t, "G -> A -> D", says("A", proposes(Execute{Tool: "x"}, End{Signal: OK})),
		saysOf("D", decided("A", Allow)))
	planned[Idle](t, d, here(Once, false), epoch)
	d = lineage(t, "G -> A -> D", says("A", proposes(Execute{Tool: "x"}, Execute{Tool: "x"})),
		saysOf("D", decided("A", Allow)))
	planned[decideStep](t, d, here(Once, false), epoch)
}

func TestDoubtIsSettledByTheClassOfTheEffect(t *testing.T) {
	open := func(e Effect) *dag {
		return lineage(t, "G -> A -> D", says("A", proposes(Execute{Tool: "x"})),
			saysOf("D", decided("A", Allow, class(e))))
	}
	past := later(2 * time.Minute)
	for _, e := range []Effect{Read, Idempotent, Once} {
		if s := planned[Idle](t, open(e), here(e, true), epoch); s.Until != TimeOf(later(time.Minute)) {
			t.Errorf("%s: got %+v, want to leave it until its deadline", e, s)
		}
	}
	for _, e := range []Effect{Read, Idempotent} {
		d := open(e)
		if s := planned[performStep](t, d, here(e, false), past); !s.Again || s.Open.Key != d.name("D") {
			t.Errorf("%s: got %+v, want it again under the same key", e, s)
		}
		c := here(e, false)
		c.Claimed = true
		planned[performStep](t, d, c, epoch)
		c.Busy = []Hash{d.name("D")}
		planned[Idle](t, d, c, epoch)
	}
	planned[reconcileStep](t, open(Once), here(Once, true), past)
	for _, e := range []Effect{Once, 0} { // no class is the most careful one
		if s := planned[Idle](t, open(e), here(e, false), past); !s.Person || !s.Is(phase.RestDoubt) {
			t.Errorf("%s: got %+v, want a person to settle it", e, s)
		}
	}
	for _, e := range []Effect{Once, 0} { // whatever the record says of the tool here
		if s := planned[Idle](t, open(Read), here(e, false), past); !s.Is(phase.RestDoubt) {
			t.Errorf("a tool of class %s, on record as read: got %+v, want a person to settle it", e, s)
		}
	}
	doubt := lineage(t, "G -> A -> D -> X", says("A", proposes(Execute{Tool: "x"})), saysOf("D", decided("A", Allow)),
		saysOf("X", func(d *dag) Body {
			return event(Doubt{Decision: d.name("D")})
		}))
	planned[Idle](t, doubt, here(Once, true), past)
	settled := lineage(t, "G -> A -> D -> X", says("A", proposes(Execute{Tool: "x"})), saysOf("D", decided("A", Allow)),
		saysOf("X", func(d *dag) Body {
			return event(Settle{Decision: d.name("D"), Signal: OK})
		}))
	planned[consultStep](t, settled, here(Once, true), past)
}

func TestBackoffFollowsTheSignal(t *testing.T) {
	owed := func(e Effect, signals ...Signal) *dag {
		parts := []func(*dag){says("A", proposes(Execute{Tool: "x"})), saysOf("D1", decided("A", Allow, class(e)))}
		drawing, last := "G -> A -> D1", "D1"
		for i, s := range signals {
			o := "O" + last[1:]
			drawing += " -> " + o
			change := func(*Outcome) {}
			if s == Throttled {
				change = func(o *Outcome) { o.RetryAfter = 90_000 }
			}
			parts = append(parts, saysOf(o, ended(last, s, change)))
			if i+1 < len(signals) {
				next := string(rune('1' + i + 1))
				drawing, last = drawing+" -> D"+next, "D"+next
				parts = append(parts, saysOf(last, func(d *dag) Body {
					return Decision{Action: Execute{Tool: "x"}, Verdict: Verdict{Answer: Allow}, Effect: e,
						Key: d.name("D1"), Deadline: TimeOf(later(time.Minute))}
				}))
			}
		}
		return lineage(t, drawing, parts...)
	}
	waits := func(d *dag, want time.Duration) {
		t.Helper()
		a := d.agent()
		s := planned[Idle](t, d, here(Idempotent, false), epoch)
		if got := s.Until.Go().Sub(a.fold.Updated.Go()); got != want {
			t.Errorf("got to wait %v (%+v), want %v", got, s.Reasons, want)
		}
		if again := planned[decideStep](t, d, here(Idempotent, false), later(time.Hour)); again.Key != d.name("D1") {
			t.Errorf("got %+v, want the same effect again", again)
		}
	}
	waits(owed(Once, Throttled), 90*time.Second)
	waits(owed(Idempotent, TimedOut), 2*time.Second)
	waits(owed(Idempotent, TimedOut, Silent), 4*time.Second)
	waits(owed(Read, Silent, Silent, Silent), 8*time.Second)
	// five attempts are enough
	planned[consultStep](t, owed(Read, TimedOut, TimedOut, TimedOut, TimedOut, TimedOut), here(Read, false),
		later(time.Hour))
	longer := planned[decideStep](t, owed(Idempotent, TimedOut), here(Idempotent, false), later(time.Hour))
	if longer.Limit < 110_000 {
		t.Errorf("got %d ms, want more time than the minute that was not enough", longer.Limit)
	}
	for _, s := range []Signal{OK, Partial, Failed, Denied} {
		planned[consultStep](t, owed(Idempotent, s), here(Idempotent, false), epoch)
	}
	planned[consultStep](t, owed(Once, TimedOut), here(Once, false), later(time.Hour)) // a once effect is not repeated
	incapable := owed(Once, Incapable)
	elsewhere := here(Once, false)
	planned[decideStep](t, incapable, elsewhere, epoch)
	elsewhere.Node = people["owner"].key // who said it cannot
	if s := planned[Idle](t, incapable, elsewhere, epoch); s.Needs != "x" {
		t.Errorf("got %+v, want another node to do it", s)
	}
}

func TestFailingToolsAndAdvisors(t *testing.T) {
	drawing, parts, last := "G", []func(*dag){}, ""
	for i := range 3 {
		a, d, o := "A"+string(rune('0'+i)), "D"+string(rune('0'+i)), "O"+string(rune('0'+i))
		drawing += " -> " + a + " -> " + d + " -> " + o
		parts = append(parts, says(a, proposes(Execute{Tool: "x"})), saysOf(d, decided(a, Allow)),
			saysOf(o, ended(d, Failed)))
		last = o
	}
	f := lineage(t, drawing, parts...).agent().fold
	if f.AnotherWay("x") {
		t.Error("another way is asked for though nothing else works")
	}
	parts = append(parts, says("B", proposes(Execute{Tool: "y"})), saysOf("DB", decided("B", Allow)),
		saysOf("OB", ended("DB", OK)))
	f = lineage(t, drawing+" -> B -> DB -> OB", parts...).agent().fold
	if !f.AnotherWay("x") || f.AnotherWay("y") || f.AnotherWay("z") {
		t.Errorf("after %s: another way is not asked for", last)
	}
	failing := lineage(t, "G -> A1 -> A2", says("A1", Advice{Signal: Failed}), says("A2", Advice{Signal: Failed}))
	a := failing.agent()
	if s := planned[Idle](t, failing, here(Once, false), epoch); s.Until != a.fold.Updated.Add(4*time.Second) {
		t.Errorf("got %+v, want the advisor left alone for 4 s", s)
	}
	planned[consultStep](t, failing, here(Once, false), later(time.Minute))
}

func TestEveryTriggerWakes(t *testing.T) {
	sleeping := func(trigger Trigger, more ...func(*dag)) *dag {
		return lineage(t, "G -> E -> S", append([]func(*dag){says("E", Event{Name: "before", Data: Data{7}}),
			says("S", allowed(Sleep{Trigger: trigger}))}, more...)...)
	}
	wakes := func(name string, d *dag, now time.Time) Wake {
		t.Helper()
		s, ok := Plan(d.agent(), everything, now).(rouseStep)
		if !ok {
			t.Errorf("%s: got %+v, want to wake", name, Plan(d.agent(), everything, now))
		}
		return s.Wake
	}
	sleeps := func(name string, d *dag, now time.Time) Idle {
		t.Helper()
		s, ok := Plan(d.agent(), everything, now).(Idle)
		if !ok {
			t.Errorf("%s: got %+v, want to sleep", name, Plan(d.agent(), everything, now))
		}
		return s
	}
	soon := later(time.Hour)
	at := sleeping(At{Time: TimeOf(soon)})
	if s := sleeps("at", at, epoch); s.Until != TimeOf(soon) {
		t.Errorf("got %+v", s)
	}
	wakes("at", at, soon)
	after := sleeping(After{Millis: 60_000})
	sleeps("after", after, later(time.Minute))
	wakes("after", after, later(time.Minute+2*time.Millisecond))
	on := sleeping(On{Event: "before"})
	if w := wakes("event that came before the sleep", on, epoch); len(w.By) != 1 || w.By[0] != on.name("E") {
		t.Errorf("got woken by %v, want E", w.By)
	}
	wakes("on, filter", sleeping(On{Event: "before", Filter: "event.data == 7"}), epoch)
	if s := sleeps("on, filter", sleeping(On{Event: "before", Filter: "event.data == 8"}), epoch); s.Until != 0 {
		t.Errorf("got %+v, want to wait for an event only", s)
	}
	sleeps("on, a filter that does not compile", sleeping(On{Event: "before", Filter: "1 +"}), epoch)
	wakes("done", sleeping(Done{Decision: HashOf(nil)}), epoch)
	open := lineage(t, "G -> D -> S", says("D", Decision{Action: Execute{Tool: "x"}, Verdict: Verdict{Answer: Allow},
		Deadline: TimeOf(soon)}), saysOf("S", func(d *dag) Body {
		return allowed(Sleep{Trigger: Done{Decision: d.name("D")}})
	}))
	sleeps("done", open, epoch)
	when := sleeping(When{Condition: "now >= timestamp('2026-03-01T13:00:00Z')"})
	if s := sleeps("when", when, epoch); s.Until != TimeOf(epoch.Add(conditionEvery)) {
		t.Errorf("got %+v, want to look again as the clock goes", s)
	}
	wakes("when", when, soon)
	wakes("when, vars", sleeping(When{Condition: "vars.n > 1"},
		says("E", Event{Name: "e", Set: map[string]Data{"n": {2}}})), epoch)
	wakes("any", sleeping(Any{Of: []Trigger{At{Time: TimeOf(soon)}, On{Event: "before"}}}), epoch)
	sleeps("any", sleeping(Any{Of: []Trigger{At{Time: TimeOf(soon)}, On{Event: "other"}}}), epoch)
	sleeps("all", sleeping(All{Of: []Trigger{At{Time: TimeOf(soon)}, On{Event: "before"}}}), epoch)
	wakes("all", sleeping(All{Of: []Trigger{At{Time: TimeOf(soon)}, On{Event: "before"}}}), soon)
}

func TestEventWakesOnce(t *testing.T) {
	d := lineage(t, "G -> E -> S -> W -> S2", says("S", allowed(Sleep{Trigger: On{Event: "E"}})),
		says("S2", allowed(Sleep{Trigger: On{Event: "E"}})),
		saysOf("W", func(d *dag) Body { return allowed(Wake{Sleep: d.name("S"), By: []Hash{d.name("E")}}) }))
	planned[Idle](t, d, everything, epoch)
}

func TestPollIsCalledEverySoOften(t *testing.T) {
	trigger := Every{Millis: 60_000, Poll: Execute{Tool: "x"}, Until: "result.done"}
	d := lineage(t, "G -> S", says("S", allowed(Sleep{Trigger: trigger})))
	planned[Idle](t, d, here(Read, false), later(59*time.Second))
	s := planned[decideStep](t, d, here(Read, false), later(61*time.Second))
	call, ok := s.Action.(Execute)
	if !ok || call.Call != pollCall+"0" {
		t.Fatalf("got %+v, want the poll", s)
	}
	answers := func(v Answer, more ...Body) *dag {
		parts := []func(*dag){says("S", allowed(Sleep{Trigger: trigger})),
			says("D", Decision{Action: call, Verdict: Verdict{Answer: v, Expires: TimeOf(later(time.Hour))},
				Effect: Read, Deadline: TimeOf(later(3 * time.Minute))})}
		drawing := "G -> S -> D"
		for _, b := range more {
			drawing += " -> O"
			parts = append(parts, saysOf("O", func(d *dag) Body {
				o := b.(Outcome)
				o.Decision = d.name("D")
				return o
			}))
		}
		return lineage(t, drawing, parts...)
	}
	yes, err := DataOf(map[string]any{"done": true})
	if err != nil {
		t.Fatal(err)
	}
	no, err := DataOf(map[string]any{"done": false})
	if err != nil {
		t.Fatal(err)
	}
	at := later(61 * time.Second)
	planned[Idle](t, answers(Allow), here(Read, false), at)
	planned[rouseStep](t, answers(Allow, Outcome{Signal: OK, Result: yes}), here(Read, false), at)
	if s := planned[Idle](t, answers(Allow, Outcome{Signal: OK, Result: no}), here(Read, false), epoch); s.Until.Go().
		Before(later(time.Minute)) {
		t.Errorf("got %+v, want the next poll a minute on", s)
	}
	planned[Idle](t, answers(Deny), here(Read, false), epoch) // not asked for again at once
	if s := planned[Idle](t, answers(Ask), here(Read, false), at); !s.Person {
		t.Errorf("got %+v, want to wait for the answer about the poll", s)
	}
	planned[lapseStep](t, answers(Ask), here(Read, false), later(2*time.Hour))
}

func TestLongSleepIsRecheckedOnce(t *testing.T) {
	sleep := Sleep{Trigger: After{Millis: 60_000}, Stale: 30_000,
		Recheck: []Execute{{Tool: "x"}, {Tool: "x", Call: "2"}}}
	s := planned[rouseStep](t, lineage(t, "G -> S", says("S", allowed(sleep))), here(Read, false), later(2*time.Minute))
	if !s.Wake.Stale {
		t.Fatalf("got %+v, want a stale wake", s)
	}
	wake := saysOf("W", func(d *dag) Body { return allowed(Wake{Sleep: d.name("S"), Stale: true}) })
	check := func(v Answer) func(*dag) {
		return says("D", Decision{Action: Execute{Tool: "x", Call: recheckCall + "2"}, Verdict: Verdict{Answer: v},
			Effect: Read, Deadline: TimeOf(later(time.Minute))})
	}
	for _, v := range []Answer{Allow, Deny, Ask} {
		d := lineage(t, "G -> S -> W -> D", says("S", allowed(sleep)), wake, check(v))
		if got := len(d.agent().fold.Recheck); got != 1 {
			t.Errorf("%s: %d things left to look at, want 1", v, got)
		}
	}
	retried := lineage(t, "G -> S -> W -> D -> O -> D2", says("S", allowed(sleep)), wake, check(Allow),
		saysOf("O", ended("D", TimedOut)), saysOf("D2", func(d *dag) Body {
			dec := d.body["D"](d).(Decision)
			dec.Key = d.name("D")
			return dec
		}))
	if got := len(retried.agent().fold.Recheck); got != 1 {
		t.Errorf("%d things left to look at after a retry, want 1", got)
	}
}

func TestEveryStateIsWitnessed(t *testing.T) {
	goal := "b"
	n := func(v int64) *int64 { return &v }
	wide := begins(Genesis{Intent: Intent{Goal: "g", Budget: &Budget{Cost: n(50)}},
		Charter: Charter{Scope: "acme", Depth: 1}})
	for want, d := range map[phase.State]*dag{
		phase.Instantiated: lineage(t, "G"),
		phase.Evaluation:   lineage(t, "G -> A", says("A", proposes(Execute{Tool: "x"}))),
		phase.Execution:    lineage(t, "G -> D", says("D", allowed(Execute{Tool: "x"}))),
		phase.Mutation:     lineage(t, "G -> D", says("D", allowed(Mutate{Goal: &goal}))),
		phase.Delegation:   lineage(t, "G -> D", wide, saysOf("D", delegates(func(*Genesis) {}))),
		phase.Dormant:      lineage(t, "G -> D", says("D", allowed(Sleep{Trigger: After{Millis: 1}}))),
		phase.Reentry: lineage(t, "G -> D -> W", says("D", allowed(Sleep{Trigger: After{Millis: 1}})),
			saysOf("W", func(d *dag) Body {
				return allowed(Wake{Sleep: d.name("D")})
			})),
		phase.Terminated: lineage(t, "G -> D", says("D", event(Cancel{}))),
	} {
		f := d.agent().fold
		if got := f.State(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	atWork := allowed(Execute{Tool: "x"})
	atWork.Effect, atWork.Deadline = Once, TimeOf(epoch.Add(time.Hour))
	for want, d := range map[phase.Standing]*dag{
		"ready": lineage(t, "G"), "running": lineage(t, "G -> D", says("D", atWork)),
		"waiting":    lineage(t, "G -> D", says("D", event(Pause{}))),
		"dormant":    lineage(t, "G -> D", says("D", allowed(Sleep{Trigger: After{Millis: 1}}))),
		"terminated": lineage(t, "G -> D", says("D", event(Cancel{}))),
	} {
		if got := d.agent().Standing(nil, Place{}, epoch); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// delegates is an allowed delegation whose child's genesis is changed.
func delegates(change func(*Genesis)) func(*dag) Body {
	return func(d *dag) Body {
		a, err := FoldEntries(seq(d.all()))
		if err != nil {
			d.t.Fatal(err)
		}
		cost := int64(10)
		del := Delegate{Intent: Intent{Goal: "child", Budget: &Budget{Cost: &cost}}}
		g, err := a.fold.ChildGenesis(&del, HashOf(nil))
		if err != nil {
			d.t.Fatal(err)
		}
		change(&g)
		child, err := people["owner"].Genesis(g, epoch)
		if err != nil {
			d.t.Fatal(err)
		}
		dec := allowed(del)
		if dec.Child, err = child.MarshalBinary(); err != nil {
			d.t.Fatal(err)
		}
		return dec
	}
}

func TestChildIsNoWiderThanItsParent(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	g := begins(Genesis{
		Intent: Intent{Goal: "g", Budget: &Budget{Cost: n(50)}, Tools: []string{"x", "y"},
			Deadline: TimeOf(later(time.Hour))},
		Charter: Charter{Scope: "acme", Depth: 2, Policies: []Hash{HashOf([]byte("p"))},
			Approvers: []Key{people["ann"].key}},
	})
	good := lineage(t, "G -> D", g, saysOf("D", delegates(func(*Genesis) {}))).agent()
	if len(good.fold.Children) != 1 || good.fold.Reserved().Cost != 10 || *good.fold.Left().Cost != 40 {
		t.Fatalf("got %+v, %q", good.fold.Children, conflicts(good))
	}
	for name, change := range map[string]func(*Genesis){
		"scope":     func(g *Genesis) { g.Charter.Scope = "other" },
		"depth":     func(g *Genesis) { g.Charter.Depth = 2 },
		"owner":     func(g *Genesis) { g.Charter.Owner = people["eve"].key },
		"budget":    func(g *Genesis) { g.Intent.Budget = nil },
		"more":      func(g *Genesis) { g.Intent.Budget = &Budget{Cost: n(51)} },
		"deadline":  func(g *Genesis) { g.Intent.Deadline = 0 },
		"tools":     func(g *Genesis) { g.Intent.Tools = []string{"x", "z"} },
		"all tools": func(g *Genesis) { g.Intent.Tools = nil },
		"policies":  func(g *Genesis) { g.Charter.Policies = nil },
		"approvers": func(g *Genesis) { g.Charter.Approvers = nil },
		"lineage":   func(g *Genesis) { g.Lineage = &Lineage{Parent: AgentID(HashOf(nil)), Relation: Child} },
	} {
		a := lineage(t, "G -> D", g, saysOf("D", delegates(change))).agent()
		if len(a.fold.Children) != 0 || len(a.fold.Open) != 0 {
			t.Errorf("%s: a child wider than its parent came to be", name)
		}
		wantConflict(t, a, "wider than the agent")
	}
	leaf := lineage(t, "G").agent()
	if _, err := leaf.fold.ChildGenesis(&Delegate{}, Hash{}); err == nil {
		t.Error("an agent without depth delegates")
	}
	if _, err := good.fold.ChildGenesis(&Delegate{Scope: "other"}, Hash{}); err == nil {
		t.Error("a scope outside the parent's was given")
	}
}

func TestBudgetIsReservedAndSettled(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	g := begins(Genesis{Intent: Intent{Goal: "g", Budget: &Budget{Cost: n(30), Calls: n(2)}},
		Charter: Charter{Scope: "acme"}})
	reserve := says("D", Decision{Action: Execute{Tool: "x"}, Verdict: Verdict{Answer: Allow}, Effect: Once,
		Reserve: &Spend{Cost: 20, Calls: 1}})
	f := lineage(t, "G -> D", g, reserve).agent().fold
	if *f.Left().Cost != 10 || *f.Left().Calls != 1 || f.Left().Tokens != nil {
		t.Errorf("got %+v left", f.Left())
	}
	if missing, ok := f.affords(Spend{Cost: 11}); ok || !strings.Contains(missing, "cost") {
		t.Errorf("11 of 10 are affordable: %s", missing)
	}
	d := lineage(t, "G -> D -> O", g, reserve, saysOf("O", ended("D", OK, func(o *Outcome) {
		o.Spend = &Spend{Cost: 29, Calls: 1}
	})))
	f = d.agent().fold
	if *f.Left().Cost != 1 || f.Reserved() != (Spend{}) {
		t.Errorf("got %+v left", f.Left())
	}
	d = lineage(t, "G -> D -> O", g, reserve, saysOf("O", ended("D", OK, func(o *Outcome) {
		o.Spend = &Spend{Cost: 31}
	})))
	s := planned[decideStep](t, d, here(Once, false), epoch)
	if sleep, ok := s.Action.(Sleep); !ok || !strings.Contains(sleep.Note, "grant more") {
		t.Errorf("got %+v, want it to rest until a person grants more", s)
	}
	d = lineage(t, "G -> D -> O -> M", g, reserve, saysOf("O", ended("D", OK, func(o *Outcome) {
		o.Spend = &Spend{Cost: 31}
	})), says("M", event(Grant{Amount: Spend{Cost: 9}})))
	planned[consultStep](t, d, here(Once, false), epoch)
}

func TestChildSettlesItsBudgetWhenItEnds(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	g := begins(Genesis{Intent: Intent{Goal: "g", Budget: &Budget{Cost: n(50)}},
		Charter: Charter{Scope: "acme", Depth: 1}})
	end := func(d *dag) Body {
		a, err := FoldEntries(seq(d.all()))
		if err != nil {
			d.t.Fatal(err)
		}
		var child AgentID
		if len(a.fold.Children) > 0 {
			child = a.fold.Children[0].Agent
		}
		return event(ChildEnded{Child: child, Signal: OK, Spend: &Spend{Cost: 4}})
	}
	a := lineage(t, "G -> D -> E -> E2", g, saysOf("D", delegates(func(*Genesis) {})), saysOf("E", end),
		saysOf("E2", end)).agent()
	if !a.fold.Children[0].Ended || a.fold.Spent.Cost != 4 || *a.fold.Left().Cost != 46 {
		t.Errorf("got %+v spent, %+v", a.fold.Spent, a.fold.Children)
	}
	if got := lineage(t, "G -> E", saysOf("E", end)).agent().fold.Spent.Cost; got != 4 {
		t.Errorf("got %d, want the spend of a child nobody knows to count", got)
	}
}

// Whoever approves may say that it was earlier; when a question has lapsed is for the clock of the node to say.
func TestAQuestionLapsesByTheClockOfTheNode(t *testing.T) {
	digest := func(d *dag) Body {
		q := d.agent().fold.Asks[0]
		return event(Approval{Decision: q.Decision, Digest: q.Digest, Approve: true})
	}
	d := lineage(t, "G -> Q -> Y", saysOf("Y", digest), says("Q", Decision{
		Action: Execute{Tool: "x"}, Verdict: Verdict{Answer: Ask, Expires: TimeOf(later(time.Hour))}, Effect: Once,
	}))
	planned[decideStep](t, d, here(Once, false), later(59*time.Minute))
	if s := planned[lapseStep](t, d, here(Once, false), later(time.Hour)); s.Outcome.Signal != Denied ||
		!strings.Contains(s.Outcome.Note, "approved, but") {
		t.Errorf("got %+v, want it denied, and to say that it was approved", s)
	}
	elsewhere := Capabilities{Node: people["ann"].key} // it lacks the tool, and is to record the lapse all the same
	if s := planned[Idle](t, d, elsewhere, later(time.Minute)); s.Until != TimeOf(later(time.Hour)) {
		t.Errorf("the next look is at %s, want it when the question lapses", s.Until)
	}
}

// Who has put an advisor right need not wait for it: neither who says something, nor who starts the node anew.
func TestAPersonEndsTheWaitForAnAdvisor(t *testing.T) {
	for name, first := range map[string]Advice{"failed": {Signal: Failed}, "silent": {Signal: Silent},
		"throttled": {Signal: Throttled, RetryAfter: 90_000}} {
		failed := func(more string, parts ...func(*dag)) (*dag, time.Time) {
			d := lineage(t, "G -> A1"+more, append(parts, says("A1", first))...)
			return d, d.agent().fold.Updated.Go().Add(time.Millisecond)
		}
		d, now := failed("")
		planned[Idle](t, d, here(Once, false), now)
		urged, anew := here(Once, false), here(Once, false)
		urged.Urged, anew.Since = TimeOf(now), TimeOf(now)
		planned[consultStep](t, d, urged, now)
		if first.RetryAfter == 0 {
			planned[consultStep](t, d, anew, now)
		} else {
			planned[Idle](t, d, anew, now) // who named a time is left alone until then
		}
		d, now = failed(" -> E", says("E", Event{Name: AnswerEvent}))
		planned[consultStep](t, d, here(Once, false), now)
		if due := d.agent().fold.Due(now); due != TimeOf(now) {
			t.Errorf("%s: due at %v, want now", name, due)
		}
		d, now = failed(" -> E", says("E", Event{Name: "news"}))
		planned[Idle](t, d, here(Once, false), now)
		d, now = failed(" -> E -> A2", says("E", Event{Name: AnswerEvent}), says("A2", first))
		planned[Idle](t, d, here(Once, false), now) // it was tried again, and a word counts once
	}
}
