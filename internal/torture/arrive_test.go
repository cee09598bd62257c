//go:build unix

package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// arriveParts import, export and collect on a disk that fails, and cut its power under a set of capsules.
func arriveParts() []part {
	return []part{
		{name: "import, gc on failing disk", round: arrivals, sabotage: "an error taken for an acknowledgement",
			tries: 3},
		{name: "capsule sets: power cuts", round: sets, sabotage: "a sync left out", tries: 4},
	}
}

// arrivalRuns is how many disks fail in a round.
const arrivalRuns = 8

// brief is an agent whose entries may be forgotten at once.
var brief = perdure.Genesis{Intent: perdure.Intent{Goal: "forget", TTL: 1}, Charter: perdure.Charter{Scope: "torture"}}

// arrival is an agent that arrives.
func arrival(n int) (id perdure.AgentID, memory []byte, entries int) {
	s, key := new(perdure.MemStore), signerOf("red")
	g := must(key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "arrive"},
		Charter: perdure.Charter{Scope: "torture"}}, time.Now()))
	a, all := must(perdure.Begin(g)), []*perdure.Entry{g}
	for range n {
		data := must(perdure.DataOf(strings.Repeat("x", 30_000)))
		more, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "told", Data: data}})
		a, all = must(next, err), append(all, more...)
	}
	if err := s.Put(context.Background(), g.ID(), all...); err != nil {
		panic(err)
	}
	var b bytes.Buffer
	must(capsule.Export(context.Background(), &b, s, g.ID(), capsule.Options{}))
	return g.ID(), b.Bytes(), len(all)
}

// arrivals imports an agent and collects another that somebody writes to, on disks that fail.
func arrivals(r *round) {
	for range arrivalRuns {
		k := kinds[one(r, "sqlite", "dir", "dir binary")]
		f := Fault{At: 1 + r.rng.IntN(80), Flaw: one(r, Broken, Full, Short, FailedSync), Sticky: r.rng.IntN(2) == 0}
		if err := arriveOn(r, k, f); err != nil {
			r.Lost("%v at operation %d, sticky %t: %v", f.Flaw, f.At, f.Sticky, err)
		}
	}
}

func arriveOn(r *round, k kind, f Fault) error {
	ctx := context.Background()
	d := newDisk(r.t)
	s, err := k.open(ctx, d.Root())
	r.must(err)
	n := newNode(s, signerOf("red"), world{})
	a, err := n.Create(ctx, brief)
	r.must(err)
	id, memory, entries := arrival(5)
	d.SetFault(f)
	told, acknowledged := make(chan struct{}), 0
	go func() {
		defer close(told)
		for i := range 12 {
			if _, err := n.Tell(ctx, a.ID(), perdure.Event{Name: fmt.Sprint("word", i)}); err == nil || r.sabotaged {
				acknowledged++
			}
		}
	}()
	_, imported := capsule.Import(ctx, s, bytes.NewReader(memory), capsule.ImportOptions{Anyone: true})
	for range 3 {
		_, _ = n.Collect(ctx, a.ID()) // it may fail; what it leaves is looked at below
		_, _ = capsule.Export(ctx, io.Discard, s, id, capsule.Options{})
	}
	<-told
	fired, _ := d.Fired()
	r.faults += fired
	d.SetFault(Fault{})
	_ = s.Close() // it may say again what went wrong
	if s, err = k.open(ctx, d.Root()); err != nil {
		return err
	}
	defer closed(r.t, s)
	r.checked += acknowledged + entries
	return errors.Join(arrived(ctx, s, id, memory, entries, imported == nil), remembered(ctx, s, a.ID(), acknowledged))
}

// arrived finds an agent whole, or not at all unless it was acknowledged; then it can be imported again.
func arrived(ctx context.Context, s store, id perdure.AgentID, memory []byte, entries int, acknowledged bool) error {
	n := 0
	_, err := checkAgent(ctx, s, id, func(*perdure.Entry) { n++ })
	switch {
	case errors.Is(err, perdure.ErrNotFound) && !acknowledged:
	case err != nil:
		return err
	case n != entries:
		return fmt.Errorf("%d of %d entries arrived", n, entries)
	}
	if _, err := capsule.Import(ctx, s, bytes.NewReader(memory), capsule.ImportOptions{Anyone: true}); err != nil {
		return fmt.Errorf("import again: %w", err)
	}
	_, err = checkAgent(ctx, s, id, nil)
	return err
}

// remembered finds at least so many events in a memory that verifies.
func remembered(ctx context.Context, s store, id perdure.AgentID, least int) error {
	n := 0
	if _, err := checkAgent(ctx, s, id, func(e *perdure.Entry) {
		if e.Kind == perdure.KindEvent {
			n++
		}
	}); err != nil {
		return err
	}
	if n < least {
		return fmt.Errorf("%d of %d acknowledged events are there", n, least)
	}
	return nil
}

// sets exports an agent into a set of capsules again and again, and cuts the power: the capsule that was acknowledged
// last can be imported, or a later one.
func sets(r *round) {
	ctx := r.t.Context()
	d := newDisk(r.t)
	if r.sabotaged {
		d.Forget = one(r, func(o Op) bool { return o.Kind == Sync }, func(o Op) bool { return o.Kind == SyncDir })
	}
	s, key := new(perdure.MemStore), signerOf("red")
	g := must(key.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "one", Goal: "be there"},
		Charter: perdure.Charter{Scope: "torture"}}, time.Now()))
	a := must(perdure.Begin(g))
	r.must(s.Put(ctx, g.ID(), g))
	set, err := capsule.OpenSet(d.Root() + "/set")
	r.must(err)
	defer closed(r.t, set)
	// detached signatures are a file of their own, and two files have no name in common to rename
	o := capsule.SetOptions{}
	const exports = 4
	for i := range exports {
		data := must(perdure.DataOf(strings.Repeat(string(rune('a'+i)), 200_000)))
		more, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "told", Data: data}})
		a = must(next, err)
		r.must(s.Put(ctx, g.ID(), more...))
		_, err = set.Export(ctx, s, o, g.ID())
		r.must(err)
		d.Mark()
	}
	states, found := explore(r.t, r.rng, d.Trace(), cutStates, func(dir string, c Crash) error {
		return setHolds(ctx, dir, g.ID(), c.Marks)
	})
	r.faults += states
	r.checked += states
	for _, f := range found {
		r.Lost("%s", f)
	}
}

// setHolds imports what is in a set. With as many exports acknowledged it has as many events, or more.
func setHolds(ctx context.Context, dir string, id perdure.AgentID, acknowledged int) error {
	set, err := capsule.OpenSet(dir + "/set")
	if err != nil {
		return err
	}
	s := new(perdure.MemStore)
	n := 0
	for name, err := range set.Names() {
		if err == nil {
			_, err = set.Import(ctx, s, name, capsule.ImportOptions{Anyone: true})
		}
		if err != nil {
			return errors.Join(err, set.Close())
		}
		if _, err := checkAgent(ctx, s, id, func(*perdure.Entry) { n++ }); err != nil {
			return errors.Join(err, set.Close())
		}
	}
	if n < acknowledged+1 && acknowledged > 0 {
		err = fmt.Errorf("%d entries are in the set after %d exports", n, acknowledged)
	}
	return errors.Join(err, set.Close())
}
