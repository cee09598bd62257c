//go:build unix

package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// copyParts let copies of agents go different ways.
func copyParts() []part {
	return []part{
		{name: "asks on diverged copies", round: diverged, sabotage: "a copy that takes itself for the original",
			tries: 12},
		{name: "hundreds of heads", round: wide, sabotage: "a store that forgets an entry"},
	}
}

// forgetful is a store that leaves an entry out.
type forgetful struct {
	store
	entry perdure.Hash
}

func (s *forgetful) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return s.store.Put(ctx, id, slices.DeleteFunc(slices.Clone(entries), func(e *perdure.Entry) bool {
		return e.Name == s.entry
	})...)
}

// impostor is a copy that says it is the original.
type impostor struct {
	*perdure.MemStore
	of perdure.Placed
}

func (s *impostor) Place(ctx context.Context) (perdure.Place, error) { return s.of.Place(ctx) }

// payments are the effects of two copies.
type payments struct {
	asked int64 // how many steps there are
	made  map[int64]int
}

func (p *payments) Spec() perdure.Spec {
	return perdure.Spec{Name: "pay", Effect: perdure.Once, Deadline: time.Minute}
}

func (p *payments) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	p.made[stepOf(c.Args)]++
	return perdure.Result{Set: done("pay", c.Args)}, nil
}

func (p *payments) Advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	step := stepOf(a.Fold().Vars["pay"]) + 1
	if step > p.asked {
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
	}
	return perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "pay", Args: must(perdure.DataOf(step))}}},
		nil
}

// site is one copy and its node.
type site struct {
	store perdure.Store
	node  *perdure.Node
}

func newSite(s perdure.Store, name string, p *payments, answer perdure.Answer) *site {
	n := newNode(s, signerOf(name), world{})
	n.Tools, n.Advisors = []perdure.Tool{p}, map[string]perdure.Advisor{"": p}
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if _, ok := r.Action.(perdure.Execute); ok {
			return perdure.Verdict{Answer: answer}
		}
		return perdure.Verdict{Answer: perdure.Allow}
	})
	return &site{s, n}
}

// approve says yes to all that is asked, and returns to how much.
func (x *site) approve(r *round, id perdure.AgentID) (n int) {
	a, err := perdure.Load(r.t.Context(), x.store, id)
	if errors.Is(err, perdure.ErrNotFound) {
		return 0
	}
	r.must(err)
	for _, q := range a.Fold().Asks {
		_, err := x.node.Tell(r.t.Context(), id, perdure.Event{Name: "approval",
			Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest, Approve: true}})
		if err != nil && !errors.Is(err, perdure.ErrTerminated) {
			r.Wrong("approve: %v", err)
		}
		n++
	}
	return n
}

// run works on the agent. It must not take more than a few entries.
func (x *site) run(r *round, id perdure.AgentID) {
	ctx, stop := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer stop()
	if _, err := x.node.RunAgent(ctx, id); err != nil && !errors.Is(err, perdure.ErrNotFound) &&
		!errors.Is(err, perdure.ErrConflict) {
		r.Wrong("run: %v", err)
	}
}

// take adds what another copy has.
func (x *site) take(r *round, from *site, id perdure.AgentID) {
	var all []*perdure.Entry
	for e, err := range perdure.Memory(r.t.Context(), from.store, id) {
		if errors.Is(err, perdure.ErrNotFound) {
			return
		}
		r.must(err)
		all = append(all, e)
	}
	r.must(x.store.Put(r.t.Context(), id, all...))
}

// mostEntries is how many entries a payment with its questions may come to in two copies.
const mostEntries = 60

// diverged lets two copies of an agent ask about the same payments, be answered and be merged in any order: every
// payment is made once.
func diverged(r *round) {
	for i := 0; i < courses && len(r.found) == 0; i++ {
		r.rng = rand.New(rand.NewPCG(r.rng.Uint64(), uint64(i)))
		course(r)
	}
}

// courses is how many ways a round tries.
const courses = 60

// course lets two copies go one way.
func course(r *round) {
	entries := 0
	p := &payments{asked: 1 + r.rng.Int64N(3), made: map[int64]int{}}
	first := new(perdure.MemStore)
	var second perdure.Store = new(perdure.MemStore)
	if r.sabotaged {
		second = &impostor{new(perdure.MemStore), first}
	}
	sites := []*site{newSite(first, "red", p, perdure.Ask), newSite(second, "blue", p, perdure.Ask)}
	a, err := sites[0].node.Create(r.t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "pay"},
		Charter: perdure.Charter{Scope: "torture"}})
	r.must(err)
	id := a.ID()
	for range r.rng.IntN(3) {
		sites[0].run(r, id)
	}
	sites[1].take(r, sites[0], id)
	for range 10 {
		x := r.rng.IntN(2)
		switch r.rng.IntN(6) {
		case 0:
			sites[x].take(r, sites[1-x], id)
			r.faults++
		case 1, 2:
			sites[x].approve(r, id)
		default:
			sites[x].run(r, id)
		}
	}
	for range 3 * p.asked { // in the end they hear of each other
		for x := range sites {
			sites[x].take(r, sites[1-x], id)
		}
		sites[0].run(r, id)
		sites[0].approve(r, id)
		sites[0].run(r, id)
	}
	sites[1].take(r, sites[0], id)
	var folds []perdure.Hash
	for _, x := range sites {
		a, err := checkAgent(r.t.Context(), x.store, id, func(*perdure.Entry) { entries++ })
		if err != nil {
			r.Wrong("%v", err)
			return
		}
		folds = append(folds, must(a.Fold().Hash()))
		if a.Fold().Ended == nil {
			r.Wrong("it did not come to its end: %+v", perdure.Plan(a, perdure.Capabilities{All: true, Claimed: true},
				time.Now()))
		}
		if n := len(a.Fold().Asks); n > 0 {
			r.Wrong("%d questions are open in the end", n)
		}
	}
	if folds[0] != folds[1] {
		r.Wrong("with the same entries the copies fold to %s and %s", folds[0].Short(), folds[1].Short())
	}
	if most := 2 * mostEntries * int(p.asked); entries > most {
		r.Wrong("%d payments took %d entries", p.asked, entries/2)
	}
	r.checked += entries
	for step := int64(1); step <= p.asked; step++ {
		switch n := p.made[step]; {
		case n > 1:
			r.Doubled("payment %d was made %d times", step, n)
		case n == 0:
			r.Lost("payment %d was approved and not made", step)
		}
	}
}

// wide gives an agent hundreds of heads, and runs, snapshots, exports and imports it.
func wide(r *round) {
	ctx := r.t.Context()
	heads := 150 + r.rng.IntN(200)
	k := kinds[one(r, "sqlite", "dir", "dir binary")]
	opened, err := k.open(ctx, r.t.TempDir())
	r.must(err)
	defer closed(r.t, opened)
	key := signerOf("red")
	g := must(key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be wide"},
		Charter: perdure.Charter{Scope: "torture"}}, time.Now()))
	id, a, told := g.ID(), must(perdure.Begin(g)), []*perdure.Entry{g}
	for i := range heads {
		entries, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: fmt.Sprint("word", i)}})
		r.must(err)
		told = append(told, entries...)
	}
	var s perdure.Store = opened
	if r.sabotaged {
		s = &forgetful{opened, told[1+r.rng.IntN(heads)].Name}
	}
	for _, e := range told {
		r.must(s.Put(ctx, id, e))
	}
	r.faults += heads
	p := &payments{asked: 2, made: map[int64]int{}}
	x := newSite(s, "red", p, perdure.Allow)
	x.node.SnapshotEvery = 1 + r.rng.IntN(40)
	x.run(r, id)
	for step, n := range p.made {
		if n != 1 {
			r.Doubled("payment %d was made %d times", step, n)
		}
	}
	here := map[perdure.Hash]bool{}
	ended, err := checkAgent(ctx, s, id, func(e *perdure.Entry) { here[e.Name] = true })
	if err != nil {
		r.Wrong("with %d heads: %v", heads, err)
		return
	}
	if ended.Fold().Ended == nil || len(p.made) != 2 {
		r.Wrong("with %d heads it did not come to its end: %d payments", heads, len(p.made))
	}
	for _, e := range told {
		if r.checked++; !here[e.Name] {
			r.Lost("entry %s of %d heads is not there", e.Name.Short(), heads)
		}
	}
	var b bytes.Buffer
	_, err = capsule.Export(ctx, &b, s, id, capsule.Options{})
	r.must(err)
	other, err := kinds["sqlite"].open(ctx, filepath.Join(r.t.TempDir()))
	r.must(err)
	defer closed(r.t, other)
	if _, err := capsule.Import(ctx, other, bytes.NewReader(b.Bytes()),
		capsule.ImportOptions{Anyone: true}); err != nil {
		r.Wrong("import %d heads: %v", heads, err)
		return
	}
	again, err := checkAgent(ctx, other, id, nil)
	r.must(err)
	if must(again.Fold().Hash()) != must(ended.Fold().Hash()) {
		r.Wrong("imported elsewhere it folds to something else")
	}
}
