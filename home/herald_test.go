package home

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/notify"
)

type paying struct{ result error }

func (paying) Spec() perdure.Spec { return perdure.Spec{Name: "pay", Effect: perdure.Once} }
func (p paying) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{}, p.result
}

// heralded is a node whose agents do what they are told to, one action per turn, and the events of all that arrived.
type heralded struct {
	t    *testing.T
	n    *perdure.Node
	h    *herald
	at   perdure.Cursor
	seen map[string]notify.Event // by type, the last of each
}

func newHeralded(t *testing.T, result error, acts ...perdure.Action) *heralded {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{
		Store: new(perdure.MemStore), Key: key, Tools: []perdure.Tool{paying{result}},
		Trust: perdure.NewTrust(perdure.Trustee{Key: key.Key(), Name: "node", Rights: perdure.MayOwn,
			Scope: perdure.AnyScope}),
		Policy: perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			if x, ok := r.Action.(perdure.Execute); ok && x.Call == "ask" {
				return perdure.Verdict{Answer: perdure.Ask, Rules: []string{"people"}, Quorum: 2,
					Asked: []string{"ana", "bob"}, Reason: "it is much"}
			}
			return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				turn := min(int(a.Fold().Turns), len(acts)-1)
				return perdure.Advice{Actions: acts[turn : turn+1], Usage: &perdure.Usage{In: 30, Out: 10}}, nil
			})},
	}
	return &heralded{t: t, n: n, h: &herald{node: n}, seen: map[string]notify.Event{}}
}

func (x *heralded) run(i perdure.Intent) perdure.AgentID {
	x.t.Helper()
	i.Goal = "be tested"
	a, err := x.n.Create(x.t.Context(), perdure.Genesis{Intent: i, Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		x.t.Fatal(err)
	}
	x.on(a.ID())
	return a.ID()
}

// on runs an agent until it rests, and takes in what arrived.
func (x *heralded) on(id perdure.AgentID) {
	x.t.Helper()
	if _, err := x.n.RunAgent(x.t.Context(), id); err != nil {
		x.t.Fatal(err)
	}
	for item, err := range x.n.Store.(perdure.Feeder).Feed(x.t.Context(), x.at) {
		if err != nil {
			x.t.Fatal(err)
		}
		x.at = item.Cursor
		events, err := x.h.derive(x.t.Context(), item)
		if err != nil {
			x.t.Fatal(err)
		}
		for _, e := range events {
			x.seen[e.Kind()] = e
		}
	}
}

// tells fails unless exactly these types of events were seen.
func (x *heralded) tells(kinds ...string) {
	x.t.Helper()
	for _, k := range kinds {
		if _, ok := x.seen[k]; !ok {
			x.t.Errorf("no %s", k)
		}
	}
	if len(x.seen) != len(kinds) {
		x.t.Errorf("events %v, want %v", x.seen, kinds)
	}
}

func pay(t *testing.T, call string) perdure.Execute {
	args, err := perdure.DataOf(map[string]any{"amount": 5})
	if err != nil {
		t.Fatal(err)
	}
	return perdure.Execute{Tool: "pay", Args: args, Call: call}
}

func TestPeopleAreToldWhatTheyAreAsked(t *testing.T) {
	ask := perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}, Note: "blue or red?"}
	x := newHeralded(t, nil, pay(t, "ask"), ask, perdure.End{Signal: perdure.OK, Note: "done"})
	id := x.run(perdure.Intent{Name: "shop"})
	x.tells(notify.ApprovalRequested)
	e := x.seen[notify.ApprovalRequested]
	f := fold(t, x.n, id)
	if d := e.Data; d.Digest != f.Asks[0].Digest || d.Tool != "pay" || d.Quorum != 2 || len(d.Asked) != 2 ||
		d.Action == nil ||
		!strings.Contains(d.Detail, "it is much") || !strings.Contains(d.Summary, "shop asks: may it? pay") ||
		strings.Contains(d.Summary, "5") ||
		!strings.Contains(d.Answer, "perdure approve shop "+f.Asks[0].Digest.String()) {
		t.Errorf("an approval: %+v", d)
	}
	if e.Source != "urn:perdure:agent:"+id.String() || e.Subject != "shop" || !strings.HasPrefix(e.TraceParent, "00-") {
		t.Errorf("an approval: %+v", e)
	}
	if _, err := x.n.Deny(t.Context(), id, f.Asks[0].Digest, ""); err == nil {
		t.Fatal("a key that was not asked denied it")
	}
	x = newHeralded(t, nil, ask, perdure.End{Signal: perdure.OK, Note: "done"})
	id = x.run(perdure.Intent{Name: "shop"})
	x.tells(notify.QuestionAsked)
	if d := x.seen[notify.QuestionAsked].Data; d.Detail != "blue or red?" || strings.Contains(d.Summary, "blue") {
		t.Errorf("a question: %+v", d)
	}
	// Who comes late is not told what has been answered.
	late := &heralded{t: t, n: x.n, h: &herald{node: x.n}, seen: map[string]notify.Event{}}
	if _, err := x.n.Answer(t.Context(), id, "blue"); err != nil {
		t.Fatal(err)
	}
	x.seen = map[string]notify.Event{}
	x.on(id)
	x.tells(notify.Ended)
	late.on(id)
	late.tells(notify.Ended)
}

// A node was killed in the middle of a payment. Whoever looks after the deadline tells people.
func TestDoubtThatADeadNodeLeftIsTold(t *testing.T) {
	x := newHeralded(t, nil, pay(t, ""))
	a, err := x.n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "be tested", Name: "shop"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	place, err := x.n.Store.(perdure.Placed).Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Hour)
	sat, a, err := x.n.Key.Commit(a, before, perdure.Draft{Body: perdure.Event{Name: "seat-taken",
		Notice: perdure.SeatTaken{At: place.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	begun, _, err := x.n.Key.Commit(a, before, perdure.Draft{Body: perdure.Decision{Action: pay(t, ""),
		Effect: perdure.Once, Verdict: perdure.Verdict{Answer: perdure.Allow},
		Deadline: perdure.TimeOf(before.Add(time.Minute))}})
	if err == nil {
		err = x.n.Store.Put(t.Context(), a.ID(), append(sat, begun...)...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is told once
		x.on(a.ID())
	}
	x.tells(notify.InDoubt)
	if n := len(fold(t, x.n, a.ID()).Heads); n != 1 {
		t.Errorf("%d heads", n)
	}
}

func TestSleepDoubtAndLittleBudgetAreTold(t *testing.T) {
	x := newHeralded(t, perdure.ErrInDoubt, pay(t, ""), perdure.Sleep{Trigger: perdure.After{Millis: 1 << 40}})
	tokens := int64(100)
	id := x.run(perdure.Intent{Name: "shop", Budget: &perdure.Budget{Tokens: &tokens}})
	x.tells(notify.InDoubt)
	open := fold(t, x.n, id).Open
	if _, err := x.n.Settle(t.Context(), id, perdure.Settle{Decision: open[0].Decision,
		Signal: perdure.Failed}); err != nil {
		t.Fatal(err)
	}
	x.seen = map[string]notify.Event{}
	x.on(id)
	x.tells(notify.Dormant, notify.BudgetLow)
	if e := x.seen[notify.BudgetLow]; !e.Once || !strings.Contains(e.Data.Summary, "20 of 100 tokens") {
		t.Errorf("little budget: %+v", e)
	}
	if _, err := x.n.Cancel(t.Context(), id, "enough"); err != nil {
		t.Fatal(err)
	}
	x.seen = map[string]notify.Event{}
	x.on(id)
	x.tells(notify.Ended)
}

func fold(t *testing.T, n *perdure.Node, id perdure.AgentID) *perdure.Fold {
	t.Helper()
	a, err := n.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a.Fold()
}

func TestDestinationsThatMakeNoSenseAreRefused(t *testing.T) {
	for yaml, want := range map[string]string{
		`{name: a}`: "one of url",
		`{name: a, url: "https://x.example", slack: "https://y.example"}`: "one of url",
		`{name: a/b, url: "https://x.example"}`:                           "names files",
		`{name: a, url: "http://x.example"}`:                              "https",
		`{name: a, url: "https://x.example", events: [nope]}`:             "no nope",
		`{name: a, url: "https://x.example", content: all}`:               "whole or link",
		`{name: a, url: "https://x.example", secret: NOPE}`:               "no secret NOPE",
		`{name: a, command: [true], secret: NOPE}`:                        "only what goes to a url",
		`{name: a, mail: {server: "x:25", from: "nobody", to: [a@b.c]}}`:  "from",
		`{name: a, command: [true]}, {name: a, command: [true]}`:          "has that name",
		`{name: a, slack: "env:PERDURE_NO_SUCH"}`:                         "PERDURE_NO_SUCH",
		`{name: a, url: "https://x.example", nonsense: 1}`:                "nonsense",
	} {
		h := hookedHome(t, "secrets: secrets\nnotify: ["+yaml+"]\n")
		if _, err := h.Notifier(&perdure.Node{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one about %q", yaml, err, want)
		}
	}
	h := hookedHome(t, "secrets: secrets\nnotify: [{name: a, url: \"https://x.example\", secret: CRM, content: "+
		"whole}, {name: b, command: [bin/tell]}]\n")
	n, err := h.Notifier(&perdure.Node{}, nil)
	if err != nil || len(n.Destinations) != 2 || !n.Destinations[0].Whole ||
		n.Destinations[1].Sender.(*notify.Command).Argv[0] != h.Dir+"/bin/tell" {
		t.Errorf("%+v, %v", n, err)
	}
}

// TestPeopleAreToldWhoIsReallyAsked where approvers stand in the owner's place: the owner's answer would not count.
func TestPeopleAreToldWhoIsReallyAsked(t *testing.T) {
	x := newHeralded(t, nil, pay(t, "ask"))
	x.n.Policy = perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Ask, Rules: []string{"people"}, Asked: []string{"owner"}}
	})
	var approvers []perdure.Key
	for _, name := range []string{"ana", "anna"} {
		s, err := perdure.GenerateSigner(name)
		if err != nil {
			t.Fatal(err)
		}
		approvers = append(approvers, s.Key())
		x.n.Trust = x.n.Trust.With(perdure.Trustee{Key: s.Key(), Name: name, Rights: perdure.MayApprove,
			Scope: perdure.AnyScope})
	}
	a, err := x.n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "pay"},
		Charter: perdure.Charter{Scope: "acme", Approvers: approvers}})
	if err != nil {
		t.Fatal(err)
	}
	x.on(a.ID())
	asked := x.seen[notify.ApprovalRequested].Data.Asked
	slices.Sort(asked)
	if got := strings.Join(asked, " "); got != "ana anna" {
		t.Errorf("got %q, want the approvers by name", got)
	}
}

// Little is left of the calls, and later of the tokens: a destination is told each, as it goes by the id of the event.
func TestEachLimitThatIsLowIsTold(t *testing.T) {
	tokens, calls := int64(240), int64(5)
	x := newHeralded(t, nil, pay(t, "1"), pay(t, "2"), pay(t, "3"), pay(t, "4"),
		perdure.Sleep{Trigger: perdure.After{Millis: 1 << 40}})
	a, err := x.n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "be tested",
		Budget: &perdure.Budget{Tokens: &tokens, Calls: &calls}}, Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]map[string]bool{} // by id, which limits
	for range 40 {
		if _, err := x.n.Cycle(t.Context(), a.ID()); err != nil {
			t.Fatal(err)
		}
		for item, err := range x.n.Store.(perdure.Feeder).Feed(t.Context(), x.at) {
			if err != nil {
				t.Fatal(err)
			}
			x.at = item.Cursor
			events, err := x.h.derive(t.Context(), item)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Kind() != notify.BudgetLow {
					continue
				}
				if said[e.ID] == nil {
					said[e.ID] = map[string]bool{}
				}
				said[e.ID][e.Data.Summary[strings.LastIndexByte(e.Data.Summary, ' ')+1:]] = true
			}
		}
	}
	for id, limits := range said {
		if len(limits) > 1 {
			t.Errorf("event %s, which is sent once, tells of %v", id, limits)
		}
	}
	if len(said) != 2 {
		t.Errorf("told of %v, want of calls and of tokens", said)
	}
}
