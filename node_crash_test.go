package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// The crash matrix: agents whose nodes die at every point between advice, decision, effect and outcome. What really
// happened is kept in a ledger the agent cannot see, and at the end memory must say the same.

// fault is what goes wrong.
type fault int

const (
	killBefore fault = iota // the node dies, and the n-th thing did not happen
	killAfter               // the node dies when the n-th thing has happened
	failBefore              // the store says no
	failAfter               // the store did it, and its answer is lost
	stop                    // the node is told to stop meanwhile
	faults
)

func (f fault) String() string {
	return [...]string{"kill before", "kill after", "fail before", "fail after", "stop at"}[f]
}

// world is one run of the matrix.
type world struct {
	seed    uint64
	inner   *perdure.MemStore
	claims  bool // the store keeps other nodes off
	instant bool // the advisor costs nothing to ask
	signer  *perdure.Signer
	plan    [][]perdure.Action // by turn

	mu     sync.Mutex
	ledger map[string][]string // the effects that happened: id -> key of each time
	wrong  []string
	struck map[string]int // the faults that happened, by point

}

// life is one node from its start to its death.
type life struct {
	*world
	at    int // which write or call the fault is at, counted from 1; 0: never
	fault fault
	stop  context.CancelFunc

	count int
	dead  bool
}

func (w *world) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf("seed %d: ", w.seed)+fmt.Sprintf(format, args...))
}

var errFault = errors.New("the disk says no")

// point is a place where a node can die: do happens unless it dies before. A node that is dead does nothing more.
func (l *life) point(name string, store bool, do func() error) error {
	l.mu.Lock()
	l.count++
	hit := l.count == l.at && !l.dead
	f := l.fault
	if !store && (f == failBefore || f == failAfter) {
		hit = false
	}
	if hit {
		l.struck[f.String()+" "+name]++
		l.dead = f == killBefore || f == killAfter
	}
	dead := l.dead
	l.mu.Unlock()
	switch {
	case hit && f == killAfter:
		_ = do() // nobody is left to hear of it
		runtime.Goexit()
	case dead:
		runtime.Goexit()
	case hit && f == failBefore:
		return errFault
	case hit && f == failAfter:
		return errors.Join(errFault, do())
	case hit && f == stop:
		l.stop()
	}
	return do()
}

// crashStore is the store as a mortal node sees it.
type crashStore struct {
	perdure.Store
	l *life
}

// Place is the id of the store itself.
func (s *crashStore) Place(ctx context.Context) (perdure.Place, error) {
	return s.Store.(perdure.Placed).Place(ctx)
}

// kinds names what is written.
func kinds(es []*perdure.Entry) string {
	var names []string
	for _, e := range es {
		names = append(names, e.Kind.String())
	}
	return strings.Join(slices.Compact(names), "+")
}

func (s *crashStore) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	return s.l.point("append of "+kinds(es), true, func() error { return s.Store.Append(ctx, id, heads, es...) })
}

func (s *crashStore) Put(ctx context.Context, id perdure.AgentID, es ...*perdure.Entry) error {
	return s.l.point("put of "+kinds(es), true, func() error { return s.Store.Put(ctx, id, es...) })
}

// claimStore is a crashStore with claims. A dead node renews and releases nothing.
type claimStore struct {
	crashStore
	perdure.Claimer
}

func (s *claimStore) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	if s.l.isDead() {
		return errFault
	}
	return s.Claimer.Renew(ctx, c, lease)
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// Advise implements perdure.Advisor: what it proposes is a function of the turn. It must not be asked for advice that
// is recorded.
func (l *life) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	turn := a.Fold().Turns
	var advice perdure.Advice
	err := l.point("advice", false, func() error {
		if !l.instant {
			truth, err := perdure.Load(context.WithoutCancel(ctx), l.inner, a.ID())
			if err != nil {
				return err
			}
			if got := truth.Fold().Turns; got != turn {
				l.complain("asked for advice of turn %d, and memory has %d", turn, got)
			}
		}
		advice.Actions = l.plan[min(turn, int64(len(l.plan)-1))]
		return nil
	})
	return advice, err
}

// Instant says whether asking again costs nothing: see perdure.Advisor.
func (l *life) Instant() bool { return l.instant }

// effect is the body of every tool: it writes to the ledger.
func (l *life) effect(_ context.Context, c perdure.Call) (perdure.Result, error) {
	err := l.point("effect", false, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		id, _ := c.Args.Value().(string)
		l.ledger[id] = append(l.ledger[id], c.Key)
		return nil
	})
	return perdure.Result{}, err
}

// happened looks at the ledger.
func (l *life) happened(c perdure.Call) (perdure.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, _ := c.Args.Value().(string); len(l.ledger[id]) > 0 {
		return perdure.Result{}, nil
	}
	return perdure.Result{Signal: perdure.Failed, Note: "it did not happen"}, nil
}

// node is a new node, with the classes its tools claim.
func (l *life) node(once perdure.Effect) *perdure.Node {
	var store perdure.Store = &crashStore{Store: l.inner, l: l}
	if l.claims {
		store = &claimStore{crashStore: crashStore{Store: l.inner, l: l}, Claimer: l.inner}
	}
	spec := func(name string, e perdure.Effect) tool {
		return tool{spec: perdure.Spec{Name: name, Effect: e, Deadline: time.Minute}, call: l.effect,
			reconcile: l.happened}
	}
	read, same, pay, wire := spec("read", perdure.Read), spec("idempotent", perdure.Idempotent), spec("once", once),
		spec("reconciled", once)
	return &perdure.Node{
		Store: store, Key: l.signer, Policy: perdure.PolicyFunc(allow), Advisors: map[string]perdure.Advisor{"": l},
		SnapshotEvery: 7,
		Tools:         []perdure.Tool{&read, &same, &pay, &looker{wire}},
	}
}

// newWorld is the world of a seed.
func newWorld(t *testing.T, seed uint64, signer *perdure.Signer) (*world, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{seed: seed, inner: new(perdure.MemStore), claims: r.IntN(2) == 0, instant: r.IntN(3) == 0,
		signer: signer, ledger: map[string][]string{}, struck: map[string]int{}}
	for turn := range 1 + r.IntN(3) {
		var actions []perdure.Action
		for i := range 1 + r.IntN(2) {
			name := []string{"once", "once", "reconciled", "idempotent", "read"}[r.IntN(5)]
			id, err := perdure.DataOf(fmt.Sprintf("%s %d.%d", name, turn, i))
			if err != nil {
				t.Fatal(err)
			}
			actions = append(actions, perdure.Execute{Tool: name, Args: id, Call: fmt.Sprintf("%d.%d", turn, i)})
		}
		if r.IntN(4) == 0 {
			actions = append(actions, perdure.Sleep{Trigger: perdure.After{Millis: 1000}})
		}
		w.plan = append(w.plan, actions)
	}
	w.plan = append(w.plan, []perdure.Action{perdure.End{Signal: perdure.OK}})
	return w, r
}

// run lives through several lives of nodes, the last of which nothing happens to, and checks memory against the ledger.
func (w *world) run(t *testing.T, r *rand.Rand, once perdure.Effect) {
	ctx := context.Background()
	last := &life{world: w}
	a, err := (&perdure.Node{Store: w.inner, Key: w.signer}).
		Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "survive"}, Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 1 + r.IntN(3) {
		l := &life{world: w, at: 1 + r.IntN(10), fault: fault(r.IntN(int(faults)))}
		lctx, cancel := context.WithCancel(ctx)
		l.stop = cancel
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = l.node(once).RunAgent(lctx, a.ID()) }) // how it ends does not matter: it may be dead
		wg.Wait()
		cancel()
		// of the bubble: sometimes past the lease, the deadline, or neither
		time.Sleep(time.Duration(r.IntN(3)) * 45 * time.Second)
	}
	n := last.node(once)
	for range 50 {
		idle, err := n.RunAgent(ctx, a.ID())
		if err != nil && !errors.Is(err, perdure.ErrConflict) { // the claim of a dead node
			w.complain("the last node cannot go on: %v", err)
			return
		}
		if a, err = perdure.Load(ctx, w.inner, a.ID()); err != nil {
			w.complain("memory cannot be read: %v", err)
			return
		}
		if a.Fold().Ended != nil {
			w.check(ctx, a)
			return
		}
		w.settle(ctx, n, a, idle)
		time.Sleep(31 * time.Second)
	}
	w.complain("it did not end: %s", a.Fold().State())
}

// settle does what a person does about effects in doubt: looks at the ledger and says.
func (w *world) settle(ctx context.Context, n *perdure.Node, a *perdure.Agent, idle perdure.Idle) {
	if !idle.Person || !idle.Is(phase.RestDoubt) {
		return
	}
	for _, o := range a.Fold().Open {
		if o.Effect != perdure.Once || o.Deadline > perdure.TimeOf(time.Now()) {
			continue
		}
		id, _ := o.Action.(perdure.Execute).Args.Value().(string)
		w.mu.Lock()
		times := len(w.ledger[id])
		w.struck[fmt.Sprintf("in doubt, and it happened %d times", times)]++
		w.mu.Unlock()
		signal := perdure.Failed
		if times > 0 {
			signal = perdure.OK
		}
		if _, err := n.Tell(ctx, a.ID(), perdure.Event{Name: "settle", By: "a person",
			Notice: perdure.Settle{Decision: o.Decision, Signal: signal}}); err != nil {
			w.complain("an effect in doubt cannot be settled: %v", err)
		}
	}
}

// check compares memory with the ledger.
func (w *world) check(ctx context.Context, a *perdure.Agent) {
	said, err := w.outcomes(ctx, a.ID())
	if err != nil {
		w.complain("%v", err)
		return
	}
	for turn, actions := range w.plan {
		for _, action := range actions {
			x, ok := action.(perdure.Execute)
			if !ok {
				continue
			}
			id, _ := x.Args.Value().(string)
			keys, signals := w.ledger[id], said[id]
			switch {
			case len(signals) == 0 || signals[len(signals)-1] != perdure.OK && x.Tool != "once" &&
				x.Tool != "reconciled":
				w.complain("turn %d: memory says %v of %s", turn, signals, id)
			case len(slices.Compact(slices.Clone(signals))) != 1 || len(signals) > 1:
				w.complain("turn %d: memory says %v of %s", turn, signals, id)
			case (signals[0] == perdure.OK) != (len(keys) > 0):
				w.complain("turn %d: memory says %s of %s, which happened %d times", turn, signals[0], id, len(keys))
			case (x.Tool == "once" || x.Tool == "reconciled") && len(keys) > 1:
				w.complain("turn %d: %s happened %d times", turn, id, len(keys))
			case x.Tool == "idempotent" && len(slices.Compact(slices.Sorted(slices.Values(keys)))) > 1:
				w.complain("turn %d: %s happened under several keys", turn, id)
			}
		}
	}
	if c := a.Fold().Conflicts; len(c) > 0 {
		w.complain("memory is in conflict with itself: %v", c)
	}
}

// outcomes are the signals that memory has of each effect.
func (w *world) outcomes(ctx context.Context, id perdure.AgentID) (map[string][]perdure.Signal, error) {
	said, advised, decided := map[string][]perdure.Signal{}, map[perdure.Hash]perdure.Advice{},
		map[perdure.Hash]string{}
	for e, err := range perdure.Memory(ctx, w.inner, id) {
		if err != nil {
			return nil, err
		}
		switch b := e.Content().(type) {
		case perdure.Advice:
			advised[e.Name] = b
		case perdure.Decision:
			action := b.Action
			if action == nil {
				action = advised[b.Advice].Actions[b.Index]
			}
			if x, ok := action.(perdure.Execute); ok {
				decided[e.Name], _ = x.Args.Value().(string)
			}
		case perdure.Outcome:
			if b.Signal == perdure.Throttled && strings.HasPrefix(b.Note, "not begun: ") {
				continue // the node was stopped between the decision and the effect, and the next decided anew
			}
			said[decided[b.Decision]] = append(said[decided[b.Decision]], b.Signal)
		case perdure.Event:
			if s, ok := b.Notice.(perdure.Settle); ok {
				said[decided[s.Decision]] = append(said[decided[s.Decision]], s.Signal)
			}
		case perdure.Genesis, perdure.Snapshot:
		}
	}
	return said, nil
}

// matrix runs the worlds of many seeds and returns what was wrong, and which faults happened how often.
func matrix(t *testing.T, seeds uint64, once perdure.Effect) (wrong []string, struck map[string]int) {
	signer, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	struck = map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	workers := uint64(runtime.GOMAXPROCS(0))
	for worker := range workers {
		wg.Go(func() {
			for seed := worker; seed < seeds; seed += workers {
				var w *world
				synctest.Test(t, func(t *testing.T) {
					var r *rand.Rand
					w, r = newWorld(t, seed, signer)
					w.run(t, r, once)
				})
				mu.Lock()
				wrong = append(wrong, w.wrong...)
				for k, n := range w.struck {
					struck[k] += n
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return wrong, struck
}

// raced reports whether the race detector is on, which makes each run ten times as long.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestNoCrashRepeatsAnEffectOrHidesOne(t *testing.T) {
	seeds := uint64(10_000)
	if testing.Short() || raced() {
		seeds = 1000
	}
	wrong, struck := matrix(t, seeds, perdure.Once)
	if len(wrong) > 0 {
		t.Errorf("%d of %d runs went wrong, such as:\n%s", len(wrong), seeds,
			strings.Join(wrong[:min(len(wrong), 10)], "\n"))
	}
	for _, f := range []fault{killBefore, killAfter, stop} {
		for _, point := range []string{"advice", "effect", "append of advice", "append of decision",
			"append of outcome"} {
			if struck[f.String()+" "+point] == 0 {
				t.Errorf("no run had: %s %s", f, point)
			}
		}
	}
	for _, times := range []int{0, 1} {
		if struck[fmt.Sprintf("in doubt, and it happened %d times", times)] == 0 {
			t.Errorf("no run came to be in doubt about something that happened %d times", times)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(struck)) {
		t.Logf("%6d × %s", struck[k], k)
	}
}

// A matrix that cannot find a repeated effect proves nothing: tools that call their once effects repeatable must be
// found out.
func TestTheCrashMatrixFindsARepeatedEffect(t *testing.T) {
	wrong, _ := matrix(t, 500, perdure.Read)
	if !slices.ContainsFunc(wrong, func(s string) bool { return strings.Contains(s, "happened 2 times") }) {
		t.Errorf("effects were repeated and nobody noticed; found %d other things", len(wrong))
	}
}
