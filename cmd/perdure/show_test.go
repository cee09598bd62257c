package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
)

// answerer is a tool whose calls end as it is told.
type answerer struct {
	spec perdure.Spec
	call func(ctx context.Context, c perdure.Call) (perdure.Result, error)
}

func (a answerer) Spec() perdure.Spec { return a.spec }

func (a answerer) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	return a.call(ctx, c)
}

// ends is a tool of an effect class that always ends the same way.
func ends(name string, effect perdure.Effect, r perdure.Result, err error) answerer {
	return answerer{perdure.Spec{Name: name, Effect: effect, Deadline: time.Minute},
		func(context.Context, perdure.Call) (perdure.Result, error) {
			return r, err
		}}
}

// situation is a node in a bubble of time, and an agent that does what it is told, turn by turn.
type situation struct {
	t     *testing.T
	node  *perdure.Node
	agent perdure.AgentID
	genes perdure.Genesis
	turns []perdure.Action
	asks  perdure.Verdict // of actions of class once
}

func newSituation(t *testing.T, turns ...perdure.Action) *situation {
	key, err := perdure.GenerateSigner("tester")
	if err != nil {
		t.Fatal(err)
	}
	s := &situation{t: t, turns: turns}
	s.genes = perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "g", Advisor: "boss"},
		Charter: perdure.Charter{Scope: "home", Depth: 2}}
	s.node = &perdure.Node{Store: new(perdure.MemStore), Key: key,
		Policy: perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			if s.asks.Answer == perdure.Ask && r.Effect == perdure.Once && r.Approvals == 0 {
				return s.asks
			}
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"boss": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				if n := a.Fold().Turns; n < int64(len(s.turns)) {
					return perdure.Advice{Actions: []perdure.Action{s.turns[n]}}, nil
				}
				return perdure.Advice{}, errors.New("the boss is out")
			})}}
	return s
}

// run works on the agent until it rests.
func (s *situation) run() {
	s.t.Helper()
	if s.agent.IsZero() {
		a, err := s.node.Create(s.t.Context(), s.genes)
		if err != nil {
			s.t.Fatal(err)
		}
		s.agent = a.ID()
	}
	if _, err := s.node.RunAgent(s.t.Context(), s.agent); err != nil {
		s.t.Fatal(err)
	}
}

// trust is whom the node trusts: itself.
func (s *situation) trust() *perdure.Trust {
	return perdure.NewTrust(perdure.Trustee{Key: s.node.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
}

// shows compares rows of perdure show: every want is a row, its columns parted by two spaces; one that begins with ! is
// not there.
func (s *situation) shows(wants ...string) {
	s.t.Helper()
	a, err := perdure.Load(s.t.Context(), s.node.Store, s.agent)
	if err != nil {
		s.t.Fatal(err)
	}
	now := time.Now().UTC()
	v := view.Summarize(a, s.trust(), map[perdure.Key]string{s.node.Key.Key(): "tester"}, perdure.Key{}, now)
	if err := v.FindChildren(s.t.Context(), s.node.Store); err != nil {
		s.t.Fatal(err)
	}
	var b bytes.Buffer
	if err := show.Summary(&b, v.Page(now, false), here); err != nil {
		s.t.Fatal(err)
	}
	rows := map[string]bool{}
	last := ""
	for line := range strings.Lines(b.String()) {
		name, text := strings.TrimSpace(line[:min(10, len(line)-1)]), ""
		if len(line) > 10 {
			text = strings.TrimSpace(line[10:])
		}
		if name == "" {
			name = last
		}
		last = name
		rows[name+"  "+text] = true
	}
	for _, want := range wants {
		row, absent := strings.CutPrefix(want, "!")
		if absent {
			for have := range rows {
				if strings.HasPrefix(have, row+"  ") {
					s.t.Errorf("there is a row %q in\n%s", row, b.String())
				}
			}
		} else if !rows[row] {
			s.t.Errorf("there is no row %q in\n%s", row, b.String())
		}
	}
}

func TestShowSaysWhyAnAgentRests(t *testing.T) {
	inForce.store, inForce.home = "", nil // what commands run before in this process named
	call := func(tool string) perdure.Action { return perdure.Execute{Tool: tool} }
	for name, test := range map[string]func(t *testing.T){
		"throttled": func(t *testing.T) {
			s := newSituation(t, call("api"))
			s.node.Tools = []perdure.Tool{ends("api", perdure.Read,
				perdure.Result{Signal: perdure.Throttled, RetryAfter: 5 * time.Minute}, nil)}
			s.run()
			time.Sleep(5 * time.Minute)
			s.run()
			time.Sleep(5 * time.Minute)
			s.run()
			s.shows("standing  dormant",
				"why  trying again at 00:15:00 UTC (in 5m), attempt 4 of 5: api is limiting its rate",
				"node  any with tool api", "owed  api, tried 3 times, last throttled 0s ago",
				"trouble  api: throttled 3 times in a row, last 0s ago", "!asks")
		},
		"no answer in time": func(t *testing.T) {
			s := newSituation(t, call("slow"))
			s.node.Tools = []perdure.Tool{answerer{perdure.Spec{Name: "slow", Effect: perdure.Read,
				Deadline: time.Second}, func(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
				<-ctx.Done()
				return perdure.Result{}, ctx.Err()
			}}}
			s.run()
			s.shows("standing  dormant",
				"why  trying again at 00:00:03 UTC (in 2s), attempt 2 of 5: slow gave no answer in time",
				"node  any with tool slow")
		},
		"another node is needed": func(t *testing.T) {
			s := newSituation(t, call("gpu.train"))
			s.run()
			s.shows("standing  ready", "next  decide about gpu.train",
				"node  any with tool gpu.train; not tester (this node has no tool gpu.train)")
			s.node = &perdure.Node{Store: s.node.Store, Key: s.node.Key, Policy: s.node.Policy,
				Advisors: s.node.Advisors,
				Tools: []perdure.Tool{ends("gpu.train", perdure.Read, perdure.Result{},
					fmt.Errorf("no GPU: %w", perdure.ErrIncapable))}}
			s.run()
			s.shows("node  any with tool gpu.train; not tester (no GPU: this node cannot do it)")
		},
		"polling": func(t *testing.T) {
			ready, err := perdure.DataOf(map[string]any{"ready": false})
			if err != nil {
				t.Fatal(err)
			}
			s := newSituation(t, perdure.Sleep{Note: "the build",
				Trigger: perdure.Every{Millis: 30_000, Poll: perdure.Execute{Tool: "ci"},
					Until: "result.ready == true"}})
			s.node.Tools = []perdure.Tool{ends("ci", perdure.Read, perdure.Result{Data: ready}, nil)}
			s.run()
			time.Sleep(30 * time.Second)
			s.run()
			time.Sleep(10 * time.Second)
			s.shows("standing  dormant", "why  asleep until ci says result.ready == true, asked every 30s",
				"note  the build", `polled  10s ago, ok: {"ready":false}`, "!asks")
		},
		"a question": func(t *testing.T) {
			s := newSituation(t, perdure.Sleep{Note: "which colour?", Call: "c1",
				Trigger: perdure.Any{Of: []perdure.Trigger{perdure.On{Event: "answer"},
					perdure.After{Millis: 3_600_000}}}})
			s.run()
			s.shows("standing  waiting", "asks  which colour?, 0s ago",
				"asks  it goes on without an answer 01:00 UTC (in 1h)", "answer  perdure answer a TEXT", "!note")
		},
		"an approval": func(t *testing.T) {
			s := newSituation(t, call("pay"))
			s.node.Tools = []perdure.Tool{ends("pay", perdure.Once, perdure.Result{}, nil)}
			s.asks = perdure.Verdict{Answer: perdure.Ask, Reason: "money leaves", Asked: []string{"ops"}, Quorum: 2,
				Expires: perdure.TimeOf(time.Now().Add(72 * time.Hour)),
				Escalate: []perdure.Escalation{{At: perdure.TimeOf(time.Now().Add(time.Hour)),
					Asked: []string{"the boss"}}}}
			s.run()
			s.shows("standing  waiting", "asks  may it? pay, 0s ago",
				"asks  money leaves; asks ops; 0 of 2 approved; goes to the boss 01:00 UTC (in 1h); lapses "+
					"2000-01-04 00:00 UTC (in 3d)")
			time.Sleep(time.Hour)
			s.run()
			s.shows("asks  money leaves; asks ops, the boss; 0 of 2 approved; it needs 2 people, and nobody " +
				"can answer: each of ops, the boss is the name of one person whose trusted key may approve (perdure " +
				"key trust), so name enough of them; escalated once; lapses 2000-01-04 00:00 UTC (in 2d23h)")
		},
		"an approval by one person in two words": func(t *testing.T) {
			s := newSituation(t, call("pay"))
			s.node.Tools = []perdure.Tool{ends("pay", perdure.Once, perdure.Result{}, nil)}
			s.asks = perdure.Verdict{Answer: perdure.Ask, Reason: "money leaves", Asked: []string{"owner", "ann"},
				Quorum: 2}
			s.run()
			s.shows("asks  money leaves; asks owner, ann; 0 of 2 approved; it needs 2 people, and only 1 can answer: " +
				"whoever is asked for in two words is asked for as two people, so let the rules use one word for " +
				"each, and trust a key by every other name (perdure key trust)")
		},
		"in doubt": func(t *testing.T) {
			s := newSituation(t, perdure.Execute{Tool: "pay", Deadline: 1000})
			s.node.Tools = []perdure.Tool{answerer{perdure.Spec{Name: "pay", Effect: perdure.Once},
				func(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
					<-ctx.Done()
					return perdure.Result{}, ctx.Err()
				}}}
			s.run()
			s.shows("standing  waiting", "asks  did it happen? pay, 1s ago")
		},
		"children": func(t *testing.T) {
			s := newSituation(t, perdure.Delegate{Intent: perdure.Intent{Name: "kid", Goal: "help", Advisor: "boss"}},
				perdure.Sleep{Trigger: perdure.On{Event: "go"}})
			s.run()
			s.shows("standing  dormant", "children  1 of 1 at work", "wakes  perdure send a go")
		},
		"budget": func(t *testing.T) {
			calls := int64(2)
			s := newSituation(t, call("look"), call("look"), call("look"), call("look"), call("look"))
			s.genes.Intent.Budget = &perdure.Budget{Calls: &calls}
			s.node.Tools = []perdure.Tool{ends("look", perdure.Read, perdure.Result{}, nil)}
			s.run()
			s.shows("standing  waiting", "spent  2 of 2 calls; used up; 5 turns",
				"answer  perdure grant a --calls N")
		},
		"an advisor that fails": func(t *testing.T) {
			s := newSituation(t)
			s.run()
			time.Sleep(2 * time.Second)
			s.run()
			s.shows("standing  dormant",
				"why  trying again at 00:00:06 UTC (in 4s), attempt 3: advisor boss failed",
				"node  any with advisor boss",
				"trouble  advisor boss: failed twice in a row, last 0s ago")
		},
		"two branches": func(t *testing.T) {
			s := newSituation(t, perdure.Sleep{Trigger: perdure.On{Event: "go"}})
			s.run()
			a, err := perdure.Load(t.Context(), s.node.Store, s.agent)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"here", "there"} {
				entries, _, err := s.node.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: name}})
				if err == nil {
					err = s.node.Store.Put(t.Context(), s.agent, entries...)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			s.shows("standing  dormant", "unseen  here", "unseen  there", "memory  5 entries, made 0s ago, last 0s ago",
				"diverged  2 heads: the next entry joins them")
		},
		"paused": func(t *testing.T) {
			s := newSituation(t, call("look"))
			s.genes.Intent.Advisor = "nobody"
			s.run()
			if _, err := s.node.Tell(t.Context(), s.agent, perdure.Event{Name: "pause",
				Notice: perdure.Pause{Note: "wait"}}); err != nil {
				t.Fatal(err)
			}
			s.shows("standing  waiting", "why  paused", "answer  perdure resume a")
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
