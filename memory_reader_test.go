package perdure

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
)

// partCounter counts the entries and snapshots that are read out of a store.
type partCounter struct {
	*MemStore
	n int
}

func (c *partCounter) Entries(ctx context.Context, id AgentID, after Cursor) iter.Seq2[Item, error] {
	return c.counted(c.MemStore.Entries(ctx, id, after))
}

func (c *partCounter) Snapshots(ctx context.Context, id AgentID) iter.Seq2[Item, error] {
	return c.counted(c.MemStore.Snapshots(ctx, id))
}

func (c *partCounter) counted(items iter.Seq2[Item, error]) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for item, err := range items {
			c.n++
			if !yield(item, err) {
				return
			}
		}
	}
}

// After a node got another key, what the former wrote is read at the cost of what is needed, however long the memory,
// also where branches met once.
func TestAKeyRotationDoesNotMakeReadingCostAllOfMemory(t *testing.T) {
	const every, back = 16, 100
	owner, old := people["owner"], people["bob"]
	for _, size := range []int{400, 1600} {
		s := &partCounter{MemStore: new(MemStore)}
		a, err := (&Node{Store: s, Key: owner}).Create(t.Context(), Genesis{Intent: Intent{Name: "a", Goal: "g"},
			Charter: Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		write := func(k *Signer, on *Agent, b Body) *Entry {
			entries, _, err := k.Commit(on, epoch, Draft{Body: b})
			if err == nil {
				err = s.Put(t.Context(), a.ID(), entries...)
			}
			if err == nil {
				a, err = a.Apply(entries...)
			}
			if err != nil {
				t.Fatal(err)
			}
			return entries[0]
		}
		began := a
		write(owner, began, Event{Name: "here"})
		write(owner, began, Event{Name: "beside"})
		var far *Entry
		for i := range size {
			e := write(old, a, Event{Name: "work"})
			if i == size-back {
				far = e
			}
			if i%every == 0 {
				write(owner, a, Snapshot{Fold: *a.fold})
			}
		}
		write(owner, a, Event{Name: "keys", Notice: KeyChange{Revoke: old.key}})
		if a, err = Load(t.Context(), s, a.ID()); err != nil {
			t.Fatal(err)
		}
		s.n = 0
		entries, err := a.Reader(s).Since(t.Context(), far.Seq)
		if err != nil || !slices.ContainsFunc(entries, func(e *Entry) bool { return e.Name == far.Name }) {
			t.Fatalf("an entry that counts is not read: %v", err)
		}
		if s.n > 3*back {
			t.Errorf("of a memory of %d, %d were read for the last %d", size, s.n, back)
		}
		s.n = 0
		if counts, err := a.Reader(s).Counts(t.Context(), far); err != nil || !counts {
			t.Errorf("what the revocation had seen counts: %v, %v", counts, err)
		}
		if s.n > 3*back {
			t.Errorf("of a memory of %d, %d were read to tell whether one counts", size, s.n)
		}
	}
}

// Whoever reads a memory, however far back, takes for void what the fold of all of it does, whatever the branches and
// where the snapshots are; also where bodies before a snapshot are gone, of what came after it.
func TestReadersAndFoldsAgreeOnWhatCounts(t *testing.T) {
	t.Parallel()
	voids, memories := 0, 4000
	if testing.Short() {
		memories = 400
	}
	for seed := range uint64(memories) {
		w, err := newWorld(rand.New(rand.NewPCG(seed, 1)).IntN)
		if err == nil {
			var n int
			n, err = w.readsTheSame(t.Context())
			voids += n
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if voids < memories/100 {
		t.Errorf("only %d void entries in %d memories: nothing was tested", voids, memories)
	}
}

// readsTheSame puts the memory into a store, with snapshots, and holds what readers take for void against the fold. It
// returns how many entries are void.
func (w *world) readsTheSame(ctx context.Context) (voids int, err error) {
	memory, snapshots, err := w.withSnapshots()
	if err != nil {
		return 0, err
	}
	want, err := (&Agent{full: true}).apply(memory, true)
	if err != nil {
		return 0, err
	}
	void := map[Hash]bool{}
	for l := want.cur.last; l != nil; l = l.before {
		if void[l.Name] = l.void; l.void {
			voids++
		}
	}
	if err := readAs(ctx, want.fold, memory, void, nil); err != nil || len(snapshots) == 0 {
		return voids, err
	}
	s := snapshots[w.choose(len(snapshots))]
	before := map[Hash]bool{}
	for _, e := range byName(memory).past(s.Parents...) {
		before[e.Name] = true
	}
	bare := slices.Clone(memory)
	for i, e := range bare {
		if before[e.Name] && e.Kind != KindGenesis && w.choose(2) == 0 {
			bare[i] = e.Drop()
		}
	}
	if !slices.ContainsFunc(bare, bodiless) {
		return voids, nil
	}
	a, err := resume(sorted(bare), nil)
	if err != nil {
		return voids, nil // another came before it, or beside it: see resume
	}
	return voids, readAs(ctx, a.fold, bare, void, before)
}

// withSnapshots is the memory with some snapshots by its first owner: of everything that was written before.
func (w *world) withSnapshots() (memory, snapshots []*Entry, err error) {
	for _, e := range w.entries {
		memory = append(memory, e)
		if w.choose(4) > 0 {
			continue
		}
		a, err := (&Agent{full: true}).apply(memory, true)
		if err != nil {
			return nil, nil, err
		}
		f := a.fold
		if slices.Contains(f.Revoked, people["owner"].key) || len(f.Heads) > MaxParents {
			continue
		}
		h := Header{Agent: f.Agent, Parents: a.Heads(), Seq: f.Seq + 1, Time: e.Time}
		s, err := newEntry(h, &saltedBody{Content: Snapshot{Fold: *f}}, people["owner"].key)
		if err != nil {
			return nil, nil, err
		}
		mark(s)
		memory, snapshots = append(memory, s), append(snapshots, s)
	}
	return memory, snapshots, nil
}

// readAs reads a memory in several ways, and compares which entries count, but for those left out.
func readAs(ctx context.Context, f *Fold, memory []*Entry, void, leave map[Hash]bool) error {
	store, id := new(MemStore), f.Agent
	if err := store.Put(ctx, id, memory...); err != nil {
		return err
	}
	for _, since := range memory {
		entries, err := f.Reader(store).Since(ctx, since.Seq)
		if err != nil {
			return err
		}
		got := byName(entries)
		for _, e := range memory {
			if counts := got[e.Name] != nil; e.Seq >= since.Seq && !leave[e.Name] && counts == void[e.Name] {
				return fmt.Errorf("since %d: entry %s at %d, by %s, counts: %v, and is void: %v", since.Seq,
					e.Name.Short(), e.Seq, e.Origin.Short(), counts, void[e.Name])
			}
		}
		counts, err := f.Reader(store).Counts(ctx, since)
		if err != nil || !leave[since.Name] && counts == void[since.Name] {
			return fmt.Errorf("entry %s at %d counts by itself: %v, %v", since.Name.Short(), since.Seq, counts, err)
		}
	}
	return nil
}
