package perdure_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// slow is a tool that takes a second and can be stopped.
func slow(effect perdure.Effect, begun *atomic.Int64) perdure.Tool {
	return &tool{spec: perdure.Spec{Name: "slow", Effect: effect},
		call: func(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
			begun.Add(1)
			select {
			case <-ctx.Done():
				return perdure.Result{}, ctx.Err()
			case <-time.After(time.Second):
				return perdure.Result{}, nil
			}
		}}
}

func tell(t *testing.T, n *perdure.Node, id perdure.AgentID, notice perdure.Notice) {
	t.Helper()
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "told", By: "a person", Notice: notice}); err != nil {
		t.Error(err)
	}
}

func outcomes(t *testing.T, s perdure.Store, id perdure.AgentID) (out []perdure.Outcome) {
	t.Helper()
	for e, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := e.Content().(perdure.Outcome); ok {
			out = append(out, o)
		}
	}
	return out
}

func TestAPersonStopsAnAgentAtWork(t *testing.T) {
	for _, c := range []struct {
		what   string
		notice perdure.Notice
		effect perdure.Effect
		doubt  bool
	}{
		{"pause of a read", perdure.Pause{}, perdure.Read, false},
		{"pause of an idempotent effect", perdure.Pause{}, perdure.Idempotent, false},
		{"pause of an effect done once", perdure.Pause{}, perdure.Once, true},
		{"end of an idempotent effect", perdure.Cancel{Note: "enough"}, perdure.Idempotent, false},
		{"end of an effect done once", perdure.Cancel{}, perdure.Once, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(perdure.MemStore)
				var begun atomic.Int64
				n := newNode(t, store, scripted(steps("slow", 3)), slow(c.effect, &begun))
				person := newNode(t, store, scripted(nothing))
				id := create(t, n, perdure.Genesis{})
				go func() {
					time.Sleep(400 * time.Millisecond)
					tell(t, person, id, c.notice)
				}()
				start := time.Now()
				run(t, n, id)
				if took := time.Since(start); took > 700*time.Millisecond {
					t.Errorf("it took %v to stop, want the call cut off", took)
				}
				f := load(t, store, id)
				if got := begun.Load(); got != 1 || f.Turns != 1 {
					t.Errorf("%d effects begun, %d turns; want 1 and 1", got, f.Turns)
				}
				out := outcomes(t, store, id)
				switch {
				case c.doubt && (len(f.Open) != 1 || !f.Open[0].Doubt || len(out) != 0):
					t.Errorf("open %+v, outcomes %+v; want one in doubt", f.Open, out)
				case !c.doubt && (len(f.Open) != 0 || len(out) != 1 ||
					!strings.HasPrefix(out[0].Note, "it was cut off: the agent was ")):
					t.Errorf("open %+v, outcomes %+v; want one that says who stopped it", f.Open, out)
				}
				run(t, n, id)
				if got := begun.Load(); got != 1 {
					t.Errorf("%d effects begun, want none while it is stopped", got)
				}
				if _, ok := c.notice.(perdure.Pause); !ok || c.doubt {
					return
				}
				tell(t, person, id, perdure.Resume{Of: f.Paused})
				for load(t, store, id).Ended == nil {
					run(t, n, id)
					time.Sleep(time.Second)
				}
				if got := begun.Load(); got != 4 {
					t.Errorf("%d effects begun, want the one cut off tried again after the resume", got)
				}
			})
		})
	}
}

// The advisor of a copy ends the agent while something is under way where the seat is. Nobody said to stop that: it is
// done, and its outcome is known. Nothing new begins.
func TestTheEndThatACopysAdvisorProposedCutsNothingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		var begun atomic.Int64
		n := newNode(t, store, scripted(steps("slow", 3)), slow(perdure.Once, &begun))
		id := create(t, n, perdure.Genesis{})
		ends, _, err := n.Key.Commit(loaded(t, store, id), time.Now(), perdure.Draft{Body: perdure.Decision{
			Action: perdure.End{Signal: perdure.Failed}, Verdict: perdure.Verdict{Answer: perdure.Allow}}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(400 * time.Millisecond)
			if err := store.Put(context.Background(), id, ends...); err != nil {
				t.Error(err)
			}
		}()
		run(t, n, id)
		f, out := load(t, store, id), outcomes(t, store, id)
		if f.Ended == nil || len(f.Open) != 0 || len(out) != 1 || out[0].Signal != perdure.OK {
			t.Errorf("ended %v, open %+v, outcomes %+v; want the end, and one outcome that is ok", f.Ended, f.Open, out)
		}
		if got := begun.Load(); got != 1 {
			t.Errorf("%d effects begun, want 1", got)
		}
	})
}

func TestNothingIsDecidedBesideAPause(t *testing.T) {
	for _, effect := range []perdure.Effect{perdure.Read, perdure.Idempotent, perdure.Once} {
		t.Run(effect.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(perdure.MemStore)
				var n *perdure.Node
				var id perdure.AgentID
				calls := 0
				step := &tool{spec: perdure.Spec{Name: "step", Effect: effect},
					call: func(context.Context, perdure.Call) (perdure.Result, error) {
						if calls++; calls == 2 {
							tell(t, n, id, perdure.Pause{})
						}
						time.Sleep(2 * time.Millisecond)
						return perdure.Result{}, nil
					}}
				n = newNode(t, store, scripted(steps("step", 5)), step)
				id = create(t, n, perdure.Genesis{})
				run(t, n, id)
				f := load(t, store, id)
				if out := outcomes(t, store, id); calls != 2 || len(out) != 2 || len(f.Open) != 0 ||
					len(f.Paused) != 1 {
					t.Errorf("%d calls, %d outcomes, %d open, %d pauses; want 2, 2, 0, 1", calls, len(out), len(f.Open),
						len(f.Paused))
				}
			})
		})
	}
}

func TestAStoppedNodeBeginsNothing(t *testing.T) {
	for _, effect := range []perdure.Effect{perdure.Read, perdure.Idempotent, perdure.Once} {
		t.Run(effect.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(perdure.MemStore)
				var begun atomic.Int64
				n := newNode(t, store, scripted(steps("slow", 10)), slow(effect, &begun))
				id := create(t, n, perdure.Genesis{})
				ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer stop()
				if err := n.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if f, out := load(t, store, id), outcomes(t, store, id); begun.Load() != 2 || len(out) != 2 ||
					len(f.Open) != 0 {
					t.Errorf("%d begun, %d outcomes, %d open; want the 2 that were begun to have ended, and no more",
						begun.Load(), len(out), len(f.Open))
				}
			})
		})
	}
}

func TestWhatANodeCutsOffWhenItStopsIsInDoubtAtOnce(t *testing.T) {
	for _, how := range []string{"node", "run"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(perdure.MemStore)
				var begun atomic.Int64
				n := newNode(t, store, scripted(steps("slow", 10)), slow(perdure.Once, &begun))
				n.Grace = 100 * time.Millisecond
				id := create(t, n, perdure.Genesis{})
				ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer stop()
				if how == "node" {
					if err := n.Run(ctx); err != nil {
						t.Fatal(err)
					}
				} else if _, err := n.RunAgent(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				f := load(t, store, id)
				if begun.Load() != 2 || len(f.Open) != 1 || !f.Open[0].Doubt {
					t.Errorf("%d begun, open %+v; want 2, the second in doubt", begun.Load(), f.Open)
				}
			})
		})
	}
}

// stalled is a store whose appends of a decision take long, as on a machine that stood still.
type stalled struct {
	*perdure.MemStore
	by time.Duration
}

func (s *stalled) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	err := s.MemStore.Append(ctx, id, heads, es...)
	if es[len(es)-1].Kind == perdure.KindDecision {
		time.Sleep(s.by)
	}
	return err
}

func TestNothingBeginsAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stalled{MemStore: new(perdure.MemStore), by: 10 * time.Minute}
		step, seen := counter("step", perdure.Once)
		n := newNode(t, store, scripted(steps("step", 1)), step)
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		out := outcomes(t, store, id)
		if _, total := calls(seen); total != 0 || len(out) != 1 || out[0].Signal != perdure.TimedOut ||
			!strings.HasPrefix(out[0].Note, "not begun") {
			t.Errorf("%d calls, outcomes %+v; want none, and an outcome that says so", total, out)
		}
	})
}

func TestADeadlineTooFarIsNotInThePast(t *testing.T) {
	store := new(perdure.MemStore)
	step, seen := counter("step", perdure.Once)
	far := func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn > 0 {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		return []perdure.Action{perdure.Execute{Tool: "step", Deadline: 1 << 52}}
	}
	n := newNode(t, store, scripted(far), step)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if _, total := calls(seen); total != 1 || load(t, store, id).Ended == nil {
		t.Errorf("%d calls, want 1", total)
	}
}

func TestANodeWithoutAKeySaysSo(t *testing.T) {
	store := new(perdure.MemStore)
	other := newNode(t, store, scripted(nothing))
	id := create(t, other, perdure.Genesis{})
	a, err := perdure.Load(t.Context(), store, id)
	if err != nil {
		t.Fatal(err)
	}
	n, ctx := &perdure.Node{Store: store}, t.Context()
	for name, f := range map[string]func() error{
		"Create":   func() error { _, err := n.Create(ctx, perdure.Genesis{}); return err },
		"Start":    func() error { _, err := n.Start(ctx, perdure.Genesis{}); return err },
		"Tell":     func() error { _, err := n.Tell(ctx, id, perdure.Event{Name: "x"}); return err },
		"Cycle":    func() error { _, err := n.Cycle(ctx, id); return err },
		"RunAgent": func() error { _, err := n.RunAgent(ctx, id); return err },
		"Run":      func() error { return n.Run(ctx) },
		"Snapshot": func() error { _, err := n.Snapshot(ctx, id); return err },
		"Admit":    func() error { _, err := n.Admit(ctx, a, ""); return err },
		"Accept":   func() error { _, err := n.Accept(ctx, id, ""); return err },
		"Fork":     func() error { _, err := n.Fork(ctx, a, perdure.Genesis{}); return err },
		"Expired":  func() error { _, err := n.Expired(ctx, id); return err },
		"Collect":  func() error { _, err := n.Collect(ctx, id); return err },
		"Erase":    func() error { _, err := n.Erase(ctx, id, "x", ""); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "set Node.Key") {
			t.Errorf("%s: %v, want it to say that there is no key", name, err)
		}
	}
}

func TestPanicsAreLoggedWithTheirStack(t *testing.T) {
	explode := func() { panic("boom") }
	for _, who := range []string{"tool", "advisor", "policy", "reconcile"} {
		t.Run(who, func(t *testing.T) {
			store := new(perdure.MemStore)
			step := &looker{tool{spec: perdure.Spec{Name: "step", Effect: perdure.Once},
				call: func(context.Context, perdure.Call) (perdure.Result, error) {
					if who == "tool" {
						explode()
					}
					return perdure.Result{}, perdure.ErrInDoubt
				}, reconcile: func(perdure.Call) (perdure.Result, error) {
					explode()
					return perdure.Result{}, nil
				}}}
			advice := func(a *perdure.Agent, turn int64) []perdure.Action {
				if who == "advisor" {
					explode()
				}
				return steps("step", 1)(a, turn)
			}
			n := newNode(t, store, scripted(advice), step)
			if who == "policy" {
				n.Policy = perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
					explode()
					return perdure.Verdict{}
				})
			}
			var log bytes.Buffer
			n.Log = slog.New(slog.NewTextHandler(&log, nil))
			id := create(t, n, perdure.Genesis{})
			run(t, n, id)
			if said := log.String(); !strings.Contains(said, "panic=boom") ||
				!strings.Contains(said, "TestPanicsAreLoggedWithTheirStack") {
				t.Errorf("log %q, want the panic and where it was", said)
			} else if (who == "tool" || who == "reconcile") && !strings.Contains(said, "tool step panicked") {
				t.Errorf("log %q, want the name of the tool", said)
			}
			if f := load(t, store, id); who == "reconcile" && (len(f.Open) != 1 || !f.Open[0].Doubt) {
				t.Errorf("open: %+v, want it in doubt", f.Open)
			}
		})
	}
}

func TestDueIsRightAfterAnOwnershipChange(t *testing.T) {
	keys, _ := fleet()
	for i, asleep := range []bool{false, true} {
		store := new(perdure.MemStore)
		advice := nothing
		if asleep {
			advice = func(*perdure.Agent, int64) []perdure.Action {
				return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 1000}}}
			}
		}
		n := newNode(t, store, scripted(advice))
		id := create(t, n, perdure.Genesis{})
		if asleep {
			run(t, n, id)
		}
		for j, k := range keys {
			if k.Key() == n.Key.Key() {
				continue
			}
			e, err := n.Tell(t.Context(), id, perdure.Event{Name: "hand", Notice: perdure.KeyChange{Owner: k.Key()}})
			if err != nil {
				t.Fatal(err)
			}
			if want := load(t, store, id).Due(e.Time.Go()); e.Due != want {
				t.Errorf("%d, %d: due %s, want %s", i, j, e.Due, want)
			}
		}
	}
}

// full is a store that cannot write while its disk is full.
type full struct {
	*perdure.MemStore
	until time.Time
	from  perdure.Kind // what it cannot write
}

var errFull = errors.New("no space left on device")

func (s *full) no(es []*perdure.Entry) bool {
	return es[len(es)-1].Kind == s.from && time.Now().Before(s.until)
}

func (s *full) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	if s.no(es) {
		return errFull
	}
	return s.MemStore.Append(ctx, id, heads, es...)
}

func (s *full) Put(ctx context.Context, id perdure.AgentID, es ...*perdure.Entry) error {
	if s.no(es) {
		return errFull
	}
	return s.MemStore.Put(ctx, id, es...)
}

func TestAnOutcomeOutlivesAFullDisk(t *testing.T) {
	for _, effect := range []perdure.Effect{perdure.Idempotent, perdure.Once} {
		for _, told := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store := &full{MemStore: new(perdure.MemStore), from: perdure.KindOutcome,
					until: time.Now().Add(time.Minute)}
				var n *perdure.Node
				var id perdure.AgentID
				calls := 0
				step := &tool{spec: perdure.Spec{Name: "step", Effect: effect},
					call: func(context.Context, perdure.Call) (perdure.Result, error) {
						if calls++; told && calls == 1 {
							tell(t, n, id, nil)
						}
						return perdure.Result{}, nil
					}}
				n = newNode(t, store, &costly{during: func() {}}, step)
				id = create(t, n, perdure.Genesis{})
				run(t, n, id)
				if out := outcomes(t, store, id); calls != 1 || len(out) != 1 || out[0].Signal != perdure.OK ||
					load(t, store, id).Ended == nil {
					t.Errorf("%s, told %t: %d calls, outcomes %+v; want one of each, and the agent to go on", effect,
						told, calls, out)
				}
			})
		}
	}
}

// TestAPersonStopsWhatGoesOnBesideTheEndOfACopy: a copy's end lets what is under way go on; a person's cuts it off.
func TestAPersonStopsWhatGoesOnBesideTheEndOfACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		var begun atomic.Int64
		n := newNode(t, store, scripted(steps("slow", 3)), slow(perdure.Once, &begun))
		id := create(t, n, perdure.Genesis{})
		ends, _, err := n.Key.Commit(loaded(t, store, id), time.Now(), perdure.Draft{Body: perdure.Decision{
			Action: perdure.End{Signal: perdure.Failed}, Verdict: perdure.Verdict{Answer: perdure.Allow}}})
		if err != nil {
			t.Fatal(err)
		}
		m := newNode(t, store, n.Advisors[""])
		go func() {
			time.Sleep(400 * time.Millisecond)
			if err := store.Put(context.Background(), id, ends...); err != nil {
				t.Error(err)
			}
			_, err := m.Pause(context.Background(), id, "")
			var hint *perdure.Hint
			if !errors.Is(err, perdure.ErrTerminated) || !errors.As(err, &hint) ||
				!strings.Contains(hint.Do, "perdure end") {
				t.Errorf("a pause beside the end: got %v, want it refused with what to do", err)
			}
			if _, err := m.Cancel(context.Background(), id, "stop it"); err != nil {
				t.Error(err)
			}
		}()
		run(t, n, id)
		if out := outcomes(t, store, id); len(out) > 0 && out[0].Signal == perdure.OK {
			t.Errorf("%+v: nobody could stop it", out)
		}
		if _, err := m.Pause(context.Background(), id, ""); !errors.Is(err, perdure.ErrTerminated) {
			t.Errorf("got error %v: want it said that it has ended", err)
		}
		if _, err := m.Cancel(context.Background(), id, "again"); !errors.Is(err, perdure.ErrTerminated) {
			t.Errorf("got error %v: want it said once", err)
		}
	})
}

// A call that was begun before is made again only if what arrived since the node last looked counts.
func TestAStrangersWordStopsWhatWouldBeDoneAgain(t *testing.T) {
	for who, want := range map[string]int{"nobody": 1, "the owner": 1, "a stranger": 0} {
		t.Run(who, func(t *testing.T) {
			store := new(perdure.MemStore)
			put1, seen := counter("put", perdure.Idempotent)
			n := newNode(t, store, scripted(nothing), put1)
			n.PolicyHash = perdure.HashOf([]byte("now"))
			id := create(t, n, perdure.Genesis{})
			own := &stranger{t: t, key: n.Key, a: loaded(t, store, id)}
			own.write(open("put", perdure.Idempotent)) // under another policy: it is asked again
			put(t, store, id, own.all...)
			came := false
			n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
				if _, ok := r.Action.(perdure.Execute); ok && !came {
					came = true
					s := &stranger{t: t, key: n.Key, a: loaded(t, store, id)}
					if who == "a stranger" {
						s = on(t, s.a)
					}
					if who != "nobody" {
						s.write(perdure.Event{Name: "hello"})
						put(t, store, id, s.all...)
					}
					time.Sleep(5 * time.Millisecond) // until its last look is over
				}
				return allow(a, r, now)
			})
			run(t, n, id)
			if _, total := calls(seen); total != want || !came {
				t.Errorf("%d calls, want %d; policy was asked: %v", total, want, came)
			}
		})
	}
}

// away is a store on a server that was lost while an effect was under way: it waits for it as long as it may.
type away struct {
	*perdure.MemStore
	is atomic.Bool
}

func (s *away) wait(ctx context.Context) error {
	if !s.is.Load() {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Hour):
		return errors.New("the database server cannot be reached")
	}
}

func (s *away) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.MemStore.Append(ctx, id, heads, es...)
}

func (s *away) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.MemStore.Renew(ctx, c, lease)
}

func (s *away) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.MemStore.Release(ctx, c, heads, due)
}

func (s *away) Index(ctx context.Context, heads []perdure.Hash, line perdure.Listing) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.MemStore.Index(ctx, heads, line)
}

// TestANodeStopsWithoutItsStore stops a node while its store is away: a supervisor that waits for the grace and a
// little more need not kill it, and the log says that the outcome is lost.
func TestANodeStopsWithoutItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &away{MemStore: new(perdure.MemStore)}
		step := &tool{spec: perdure.Spec{Name: "step", Effect: perdure.Once},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				store.is.Store(true)
				return perdure.Result{}, nil
			}}
		n := newNode(t, store, &costly{during: func() {}}, step)
		var log bytes.Buffer
		n.Log = slog.New(slog.NewTextHandler(&log, nil))
		n.Grace = 5 * time.Second
		create(t, n, perdure.Genesis{})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		if err := n.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 21*time.Second ||
			!strings.Contains(log.String(), "outcome is not recorded") {
			t.Errorf("stopped after %s, log:\n%s", took, &log)
		}
	})
}
