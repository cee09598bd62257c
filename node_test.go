package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// scripted is an instant advisor that proposes what a function of the turn says.
func scripted(f func(a *perdure.Agent, turn int64) []perdure.Action) perdure.Advisor {
	return perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		return perdure.Advice{Actions: f(a, a.Fold().Turns)}, nil
	})
}

// tool is a tool made of functions.
type tool struct {
	spec      perdure.Spec
	call      func(ctx context.Context, c perdure.Call) (perdure.Result, error)
	reconcile func(c perdure.Call) (perdure.Result, error)
}

func (t *tool) Spec() perdure.Spec { return t.spec }
func (t *tool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	return t.call(ctx, c)
}

// looker is a tool that can reconcile.
type looker struct{ tool }

func (t *looker) Reconcile(_ context.Context, c perdure.Call) (perdure.Result, error) {
	return t.reconcile(c)
}

// counter is a tool that counts its calls by key.
func counter(name string, effect perdure.Effect) (*tool, *sync.Map) {
	var calls sync.Map
	return &tool{spec: perdure.Spec{Name: name, Effect: effect},
		call: func(_ context.Context, c perdure.Call) (perdure.Result, error) {
			n, _ := calls.LoadOrStore(c.Key, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			return perdure.Result{}, nil
		}}, &calls
}

func allow(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
	return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
}

// askWrites allows reads and asks about everything else a tool does.
func askWrites(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
	if _, ok := r.Action.(perdure.Execute); ok && r.Effect != perdure.Read {
		return perdure.Verdict{Answer: perdure.Ask, Rules: []string{"writes-ask"}}
	}
	return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
}

func newNode(t *testing.T, s perdure.Store, adv perdure.Advisor, tools ...perdure.Tool) *perdure.Node {
	t.Helper()
	keys, trust := fleet()
	key := keys[int(nextKey.Add(1))%len(keys)]
	return &perdure.Node{Store: s, Key: key, Trust: trust, Policy: perdure.PolicyFunc(allow), Tools: tools,
		Advisors: map[string]perdure.Advisor{"": adv}}
}

// fleet is the keys of nodes that trust each other, as those of one owner do. Every node of a test has the next.
var fleet = sync.OnceValues(func() (keys []*perdure.Signer, trust *perdure.Trust) {
	trust = new(perdure.Trust)
	for i := range 8 {
		key, err := perdure.GenerateSigner(fmt.Sprint("node-", i))
		if err != nil {
			panic(err)
		}
		keys = append(keys, key)
		trust = trust.With(perdure.Trustee{Key: key.Key(), Name: key.Name, Rights: perdure.MayOwn,
			Scope: perdure.AnyScope})
	}
	return keys, trust
})

var nextKey atomic.Int64

func create(t *testing.T, n *perdure.Node, g perdure.Genesis) perdure.AgentID {
	t.Helper()
	if g.Charter.Scope == "" {
		g.Charter.Scope = "test"
	}
	if g.Intent.Goal == "" {
		g.Intent.Goal = "be tested"
	}
	a, err := n.Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

func load(t *testing.T, s perdure.Store, id perdure.AgentID) *perdure.Fold {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return a.Fold()
}

// waiting reports whether an agent waits for a person.
func waiting(t *testing.T, s perdure.Store, id perdure.AgentID) bool {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return a.Listing(time.Now()).Waiting
}

func run(t *testing.T, n *perdure.Node, id perdure.AgentID) perdure.Idle {
	t.Helper()
	idle, err := n.RunAgent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return idle
}

func calls(m *sync.Map) (keys, total int) {
	m.Range(func(_, v any) bool {
		keys++
		total += int(v.(*atomic.Int64).Load())
		return true
	})
	return keys, total
}

// commits counts the appends that reach a store.
type commits struct {
	*perdure.MemStore
	n atomic.Int64
}

func (c *commits) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	c.n.Add(1)
	return c.MemStore.Append(ctx, id, heads, es...)
}

func steps(tool string, n int64) func(*perdure.Agent, int64) []perdure.Action {
	return func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn >= n {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		return []perdure.Action{perdure.Execute{Tool: tool}}
	}
}

func TestEachEffectClassCostsItsCommits(t *testing.T) {
	for _, c := range []struct {
		effect perdure.Effect
		want   int64 // for ten steps, genesis and the end
	}{
		{perdure.Read, 1 + 10 + 1},
		{perdure.Idempotent, 1 + 10 + 1},
		{perdure.Once, 1 + 10 + 1}, // each outcome shares a commit with the next decision
	} {
		t.Run(c.effect.String(), func(t *testing.T) {
			store := &commits{MemStore: new(perdure.MemStore)}
			tool, seen := counter("do", c.effect)
			n := newNode(t, store, scripted(steps("do", 10)), tool)
			id := create(t, n, perdure.Genesis{})
			run(t, n, id)
			if f := load(t, store, id); f.Ended == nil || f.Ended.Signal != perdure.OK {
				t.Fatalf("agent did not end: %+v", f.Ended)
			}
			if keys, total := calls(seen); keys != 10 || total != 10 {
				t.Errorf("got %d calls under %d keys, want 10 under 10", total, keys)
			}
			if got := store.n.Load(); got != c.want {
				t.Errorf("got %d commits, want %d", got, c.want)
			}
		})
	}
}

func TestRaceHasOneEffect(t *testing.T) {
	store := new(perdure.MemStore)
	tool, seen := counter("pay", perdure.Once)
	var nodes []*perdure.Node
	for range 4 {
		nodes = append(nodes, newNode(t, unclaimed{store}, scripted(steps("pay", 5)), tool))
	}
	id := create(t, nodes[0], perdure.Genesis{})
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			for range 50 {
				if _, err := n.RunAgent(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen.Range(func(k, v any) bool {
		if n := v.(*atomic.Int64).Load(); n != 1 {
			t.Errorf("effect %v happened %d times", k, n)
		}
		return true
	})
	if f := load(t, store, id); f.Ended == nil {
		t.Errorf("agent did not end: state %s", f.State())
	}
}

// unclaimed hides the claims of a store: only Append keeps nodes apart.
type unclaimed struct{ perdure.Store }

func TestApprovalIsBoundAndUsedOnce(t *testing.T) {
	store := new(perdure.MemStore)
	tool, seen := counter("deploy", perdure.Once)
	n := newNode(t, store, scripted(steps("deploy", 2)), tool)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{})

	if idle := run(t, n, id); !idle.Person {
		t.Fatalf("got %+v, want to wait for a person", idle)
	}
	ask := load(t, store, id).Asks[0]
	tell := func(digest perdure.Hash, yes bool) {
		t.Helper()
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "approval",
			Notice: perdure.Approval{Decision: ask.Decision, Digest: digest, Approve: yes}}); err != nil {
			t.Fatal(err)
		}
		run(t, n, id)
	}
	tell(perdure.HashOf([]byte("something else")), true)
	if _, total := calls(seen); total != 0 {
		t.Fatal("an approval of another digest let the effect through")
	}
	tell(ask.Digest, true)
	if _, total := calls(seen); total != 1 {
		t.Fatalf("got %d effects after approval, want 1", total)
	}
	tell(ask.Digest, true) // the second step asks anew: the old approval is used up
	if _, total := calls(seen); total != 1 {
		t.Fatalf("an approval was used twice: %d effects", total)
	}
	ask = load(t, store, id).Asks[0]
	tell(ask.Digest, false)
	if _, total := calls(seen); total != 1 {
		t.Fatal("a refused effect happened")
	}
	if f := load(t, store, id); f.Ended == nil {
		t.Fatalf("agent did not go on after a refusal: %s", f.State())
	}
}

func TestSleepEndsByTimeAndByEventThatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			switch turn {
			case 0:
				return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 60_000}}}
			case 1:
				return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "ready", Filter: `event.data.n > 2`}}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		id := create(t, n, perdure.Genesis{})
		if idle := run(t, n, id); !idle.Until.Go().Equal(time.Now().Add(time.Minute)) {
			t.Fatalf("got %+v, want to sleep for a minute", idle)
		}
		say := func(v int) {
			data, err := perdure.DataOf(map[string]any{"n": v})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "ready", Data: data}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if idle := run(t, n, id); idle.Until != 0 {
			t.Fatalf("got %+v, want to wait for an event", idle)
		}
		say(1)
		if run(t, n, id); load(t, store, id).Ended != nil {
			t.Fatal("an event the filter refuses woke the agent")
		}
		say(3)
		if run(t, n, id); load(t, store, id).Ended == nil {
			t.Fatal("the event did not wake the agent")
		}
	})
}

func TestOnceEffectOfADeadNodeIsReconciledOrInDoubt(t *testing.T) {
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprint("knows=", knows), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(perdure.MemStore)
				effects := 0
				dying, die := context.WithCancel(t.Context())
				pay := &looker{tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once, Deadline: time.Minute}}}
				pay.call = func(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
					effects++
					die() // the node dies after the effect, before its outcome
					<-ctx.Done()
					return perdure.Result{}, ctx.Err()
				}
				pay.reconcile = func(perdure.Call) (perdure.Result, error) {
					if !knows {
						return perdure.Result{}, errors.New("the bank does not answer")
					}
					return perdure.Result{Note: "found it in the ledger"}, nil
				}
				n := newNode(t, store, scripted(steps("pay", 1)), pay)
				id := create(t, n, perdure.Genesis{})
				if _, err := n.RunAgent(dying, id); !errors.Is(err, context.Canceled) {
					t.Fatalf("got error %v, want canceled", err)
				}
				next := newNode(t, store, scripted(steps("pay", 1)), pay)
				if idle := run(t, next, id); idle.Until == 0 || effects != 1 {
					t.Fatalf("before the deadline: got %+v and %d effects", idle, effects)
				}
				time.Sleep(time.Minute)
				idle := run(t, next, id)
				f := load(t, store, id)
				if effects != 1 {
					t.Fatalf("the effect happened %d times", effects)
				}
				if knows && (f.Ended == nil || f.Spent.Calls != 0) {
					t.Errorf("got %s, spent %+v, want the agent to have gone on", f.State(), f.Spent)
				}
				if knows {
					return
				}
				if !idle.Person || !f.Open[0].Doubt {
					t.Fatalf("got %+v, want to be in doubt and wait for a person", idle)
				}
				if _, err := next.Tell(t.Context(), id, perdure.Event{Name: "settle",
					Notice: perdure.Settle{Decision: f.Open[0].Decision, Signal: perdure.OK}}); err != nil {
					t.Fatal(err)
				}
				if run(t, next, id); load(t, store, id).Ended == nil {
					t.Error("the agent did not go on once a person settled the doubt")
				}
			})
		})
	}
}

func TestThrottledEffectIsTriedAgainWhenItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		var keys []string
		api := &tool{spec: perdure.Spec{Name: "api", Effect: perdure.Idempotent}}
		api.call = func(_ context.Context, c perdure.Call) (perdure.Result, error) {
			keys = append(keys, c.Key)
			if len(keys) < 3 {
				return perdure.Result{Signal: perdure.Throttled, RetryAfter: 90 * time.Second}, nil
			}
			return perdure.Result{}, nil
		}
		n := newNode(t, store, scripted(steps("api", 1)), api)
		id := create(t, n, perdure.Genesis{})
		for i := range 2 {
			if idle := run(t, n, id); !idle.Until.Go().Equal(time.Now().Add(90 * time.Second)) {
				t.Fatalf("attempt %d: got %+v, want to wait 90 s", i+1, idle)
			}
			time.Sleep(90 * time.Second)
		}
		if run(t, n, id); load(t, store, id).Ended == nil {
			t.Fatal("the agent did not end")
		}
		if len(keys) != 3 || keys[0] != keys[1] || keys[1] != keys[2] {
			t.Errorf("got keys %v, want three attempts under one", keys)
		}
	})
}

func TestPollingWakesWhenTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		asked := 0
		status := &tool{spec: perdure.Spec{Name: "status", Effect: perdure.Read}}
		status.call = func(context.Context, perdure.Call) (perdure.Result, error) {
			asked++
			data, err := perdure.DataOf(map[string]any{"ready": asked >= 3})
			return perdure.Result{Data: data}, err
		}
		n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000,
					Poll: perdure.Execute{Tool: "status"}, Until: "result.ready"}}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}), status)
		id := create(t, n, perdure.Genesis{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(10 * time.Second)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if f := load(t, store, id); f.Ended == nil || asked != 3 {
			t.Errorf("got ended %v after %d polls, want the end after 3", f.Ended != nil, asked)
		}
	})
}

func TestChildrenEndAndTheirParentLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(func(a *perdure.Agent, turn int64) []perdure.Action {
			f := a.Fold()
			if f.Lineage != nil {
				return []perdure.Action{perdure.End{Signal: perdure.OK}}
			}
			switch turn {
			case 0:
				return []perdure.Action{
					perdure.Delegate{Intent: perdure.Intent{Goal: "one"}},
					perdure.Delegate{Intent: perdure.Intent{Goal: "two"}, Depth: 9},
					perdure.Delegate{Intent: perdure.Intent{Goal: "elsewhere"}, Scope: "other"},
				}
			case 1:
				return []perdure.Action{perdure.Sleep{Trigger: perdure.When{Condition: "children.open == 0"}}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		id := create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: "test", Depth: 2}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		stop()
		<-done
		f := load(t, store, id)
		if f.Ended == nil || len(f.Children) != 2 {
			t.Fatalf("got ended %v with %d children, want the end with 2", f.Ended != nil, len(f.Children))
		}
		for _, c := range f.Children {
			child := load(t, store, c.Agent)
			if !c.Ended || child.Ended == nil || child.Charter.Depth > 1 || child.Charter.Owner != f.Charter.Owner {
				t.Errorf("child %s: known as ended %v, ended %v, depth %d", c.Agent.Short(), c.Ended,
					child.Ended != nil, child.Charter.Depth)
			}
		}
	})
}

func TestStoppingLosesNoOutcome(t *testing.T) {
	store := new(perdure.MemStore)
	ctx, stop := context.WithCancel(t.Context())
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once}}
	pay.call = func(context.Context, perdure.Call) (perdure.Result, error) {
		stop()
		return perdure.Result{Note: "paid"}, nil
	}
	n := newNode(t, store, scripted(steps("pay", 3)), pay)
	id := create(t, n, perdure.Genesis{})
	if _, err := n.RunAgent(ctx, id); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want canceled", err)
	}
	if f := load(t, store, id); len(f.Open) != 0 || f.Spent.Calls != 1 {
		t.Errorf("got %d open and %d calls, want the outcome recorded", len(f.Open), f.Spent.Calls)
	}
}

func TestSnapshotsKeepLoadingShort(t *testing.T) {
	store := new(perdure.MemStore)
	tool, _ := counter("do", perdure.Read)
	n := newNode(t, store, scripted(steps("do", 1000)), tool)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	whole, err := perdure.FoldEntries(perdure.Memory(t.Context(), store, id))
	if err != nil {
		t.Fatal(err)
	}
	want, err := whole.Fold().Hash()
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, store, id).Hash()
	if err != nil || got != want {
		t.Errorf("got fold %s from the snapshot, want %s (%v)", got.Short(), want.Short(), err)
	}
	for item, err := range store.Snapshots(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if after := whole.Fold().Count - item.Entry.Content().(perdure.Snapshot).Fold.Count; after > 600 {
			t.Errorf("the newest snapshot is %d entries old", after)
		}
		return
	}
	t.Error("no snapshot was written")
}

func TestWithoutPolicyNothingIsDone(t *testing.T) {
	store := new(perdure.MemStore)
	tool, seen := counter("do", perdure.Read)
	n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn > 3 {
			return nil
		}
		return []perdure.Action{perdure.Execute{Tool: "do"}}
	}), tool)
	n.Policy = nil
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if _, total := calls(seen); total != 0 {
		t.Errorf("%d effects happened without a policy", total)
	}
}

func TestStartingAnAgentThatSleepsIsOneCommit(t *testing.T) {
	store := &commits{MemStore: new(perdure.MemStore)}
	n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 1 << 40}}}
	}))
	a, err := n.Start(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "sleep"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if f := load(t, store, a.ID()); f.State() != phase.Dormant || store.n.Load() != 1 {
		t.Errorf("got state %s after %d commits, want dormant after 1", f.State(), store.n.Load())
	}
}
