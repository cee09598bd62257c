package perdure

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// foldCost is what folding a whole memory makes, for each entry, as a store would.
func foldCost(t testing.TB, entries []*Entry) (*Agent, cost) {
	t.Helper()
	a, c := apply(t, new(Agent), entries)
	if a.early != nil {
		t.Fatal("entries were held")
	}
	return a, c
}

// TestShapesCostTheSame draws memories whose shape makes readers work, and folds them at n and at 4n entries: the cost
// of an entry must not grow with their number.
func TestShapesCostTheSame(t *testing.T) {
	owner := people["owner"].key
	told := func(i int) Event { return Event{Name: fmt.Sprint("e", i%3)} }
	tests := []struct {
		name string
		draw func(w *attack, n int)
	}{
		{"a ladder of two branches", func(w *attack, n int) {
			left, right := w.entries[0], w.entries[0]
			for i := range n / 3 {
				l, r := w.put(told(i), owner, left), w.put(told(i), w.key(1), right)
				both := w.put(told(i), owner, l, r)
				left, right = both, both
			}
		}},
		{"two branches that never meet", func(w *attack, n int) {
			left, right := w.entries[0], w.entries[0]
			for i := range n / 2 {
				left = w.put(told(i), owner, left)
				right = w.put(told(i), w.key(1), right)
			}
		}},
		{"many authors", func(w *attack, n int) {
			for i := range n {
				w.put(told(i), w.key(i))
			}
		}},
		{"one key revoked on every branch", func(w *attack, n int) {
			for range n / 2 {
				w.put(told(0), w.key(1), w.entries[0])
				w.put(Event{Name: "keys", Notice: KeyChange{Revoke: w.key(1)}}, owner, w.entries[0])
			}
		}},
		{"keys revoked on branches that are joined", func(w *attack, n int) {
			last := w.entries[0]
			for i := range n / 65 {
				var heads []*Entry
				for j := range 64 {
					heads = append(heads, w.put(Event{Name: "keys", Notice: KeyChange{Revoke: w.key(i*64 + j)}}, owner,
						last))
				}
				last = w.put(told(i), owner, heads...)
			}
		}},
		{"handed on on every branch, and joined", func(w *attack, n int) {
			last := w.entries[0]
			for i := range n / 65 {
				var heads []*Entry
				for j := range 64 {
					heads = append(heads, w.put(Event{Name: "keys", Notice: KeyChange{Owner: w.key(i*64 + j + 1)}},
						owner, w.entries[0]))
				}
				last = w.put(told(i), owner, append(heads[:63], last)...)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var costs [2]cost
			for i, n := range []int{1300, 5200} {
				w := newAttack(t, Genesis{})
				tt.draw(w, n)
				_, costs[i] = foldCost(t, w.entries)
			}
			t.Log(costs)
			if costs[1].work > 2*costs[0].work+256 || costs[1].bytes > 2*costs[0].bytes+1024 {
				t.Errorf("%v at 4n, %v at n: it grows with the memory", costs[1], costs[0])
			}
			if costs[1].bytes > 32<<10 {
				t.Errorf("%v is too much", costs[1])
			}
		})
	}
}

// TestLateEntriesCostAWindow tells an agent, one by one, of entries that belong before those it has folded last: each
// costs the recent ones again, or the word that it is too late, and never the memory.
func TestLateEntriesCostAWindow(t *testing.T) {
	for _, back := range []int{8, 10 * tailWindow} {
		w := newAttack(t, Genesis{})
		for i := range 20 * tailWindow {
			w.owner(Event{Name: fmt.Sprint("e", i)})
		}
		a, _ := foldCost(t, w.entries)
		at := w.entries[len(w.entries)-back]
		behind := 0
		var most cost
		for range 500 {
			late := w.put(Event{Name: "late"}, w.key(1), at)
			var next *Agent
			var err error
			work := a.fold.work
			if next, err = a.apply([]*Entry{late}, true); err == ErrBehind {
				behind++
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			most.work = max(most.work, next.fold.work-work)
			if len(next.fold.Heads) < 30 { // beyond that the window has passed
				a = next
			}
		}
		if back > 2*tailWindow && behind != 500 {
			t.Errorf("%d entries were late, want 500", behind)
		}
		if most.work > 64*tailWindow || (back < tailWindow && most.work < tailWindow) {
			t.Errorf("an entry %d back cost %d elements", back, most.work)
		}
		t.Log(back, behind, most.work)
	}
}

// TestALookAtFullListsIsCheap asks what is next of agents that hold as much as they can.
func TestALookAtFullListsIsCheap(t *testing.T) {
	now := epoch.Add(time.Minute)
	w := newAttack(t, Genesis{})
	for i := range maxOpen {
		w.owner(Decision{Action: Execute{Tool: fmt.Sprint("tool", i)}, Verdict: Verdict{Answer: Allow}, Effect: Once,
			Deadline: TimeOf(epoch.Add(time.Hour))})
	}
	for i := range maxAsks {
		w.owner(Decision{Action: Execute{Tool: fmt.Sprint("tool", i)},
			Verdict: Verdict{Answer: Ask, Asked: []string{"ann"}}})
	}
	a, _ := foldCost(t, w.entries)
	if n := testing.AllocsPerRun(10, func() { a.fold.Due(now) }); n > 400 {
		t.Errorf("Due allocates %v times", n)
	}
	idle, ok := Plan(a, Capabilities{All: true}, now).(Idle)
	if !ok || !idle.Person || len(idle.Reasons) != maxReasons {
		t.Errorf("plan: %T with %d reasons", idle, len(idle.Reasons))
	}
}

// TestALookAtATriggerIsBounded looks at the most costly trigger there can be: its conditions share the cost of one.
func TestALookAtATriggerIsBounded(t *testing.T) {
	list, err := DataOf(slices.Repeat([]any{1}, 400))
	if err != nil {
		t.Fatal(err)
	}
	var of []Trigger
	for i := range maxTriggers - 1 {
		of = append(of, When{Condition: fmt.Sprintf("vars.l.all(x, vars.l.all(y, x + y < %d)) && false", 100+i)})
	}
	w := newAttack(t, Genesis{})
	w.owner(Event{Name: "set", Set: map[string]Data{"l": list}})
	w.owner(Decision{Action: Sleep{Trigger: Any{Of: of}}, Verdict: Verdict{Answer: Allow}})
	a, _ := foldCost(t, w.entries)
	q := question{f: a.fold, s: a.fold.Sleep, now: epoch}
	if got := q.ask(a.fold.Sleep.Sleep.Trigger); got.Met || got.For != nil {
		t.Errorf("met %v, and it says what is open", got.Met)
	}
	if q.cost > 2*500_000+lookCost || q.cost < 100_000 {
		t.Errorf("a look costs %d steps, want no more than two conditions may", q.cost)
	}
	last := func(w outlook) Pending { return w.For.Of[len(w.For.Of)-1] }
	if got := last(a.fold.met(epoch, true)); got.Fault != errTooCostly.Error() {
		t.Errorf("it says %+v", got)
	}
}

// fan is a memory with n heads, signed, and a node that has it.
func fan(t testing.TB, n int) (*Node, *Agent) {
	t.Helper()
	s := people["owner"]
	yes := PolicyFunc(func(*Agent, Request, time.Time) Verdict { return Verdict{Answer: Allow} })
	end := AdvisorFunc(func(context.Context, *Agent) (Advice, error) {
		return Advice{Actions: []Action{End{Signal: OK}}}, nil
	})
	node := &Node{Store: new(MemStore), Key: s, Trust: NewTrust(trustee("ann", MayAuthor, "acme")), Policy: yes,
		Advisors: map[string]Advisor{"": end}}
	a, err := node.Create(t.Context(), Genesis{Intent: Intent{Goal: "g"}, Charter: Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		es, _, err := people["ann"].Commit(a, epoch, Draft{Body: Event{Name: fmt.Sprint("branch", i)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := node.Store.Put(t.Context(), a.ID(), es...); err != nil {
			t.Fatal(err)
		}
	}
	return node, a
}

// TestAnyNumberOfHeads folds, snapshots, runs and verifies agents with more heads than an entry can name.
func TestAnyNumberOfHeads(t *testing.T) {
	for _, n := range []int{MaxParents, MaxParents + 1, 300, 4000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n > 1000 && testing.Short() {
				t.Skip("takes seconds")
			}
			node, a := fan(t, n)
			wide, err := Load(t.Context(), node.Store, a.ID())
			if err != nil || len(wide.fold.Heads) != n {
				t.Fatalf("%d heads, %v, want %d", len(wide.fold.Heads), err, n)
			}
			snap, err := node.Snapshot(t.Context(), a.ID())
			if err != nil {
				t.Fatal(err)
			}
			if f := snap.content.(Snapshot).Fold; len(f.Inbox) != min(n, maxInbox) || f.Count < int64(n) {
				t.Errorf("the snapshot is of %d entries, want all %d", f.Count, n+1)
			}
			told, err := node.Tell(t.Context(), a.ID(), Event{Name: "told"})
			if full := n >= maxInbox; (err != nil) != full || !full && told.content.(Event).Name != "told" {
				t.Fatal(told, err)
			}
			if idle, err := node.RunAgent(t.Context(), a.ID()); err != nil {
				t.Fatal(idle, err)
			}
			done, err := Load(t.Context(), node.Store, a.ID())
			if err != nil || done.fold.Ended == nil || len(done.fold.Heads) != 1 {
				t.Fatalf("%v, ended %v with %d heads", err, done.fold.Ended, len(done.fold.Heads))
			}
			v, err := Verify(Memory(t.Context(), node.Store, a.ID()), VerifyOptions{})
			if err != nil || v.Snapshots != 1 || v.Entries != done.fold.Count {
				t.Fatalf("%+v, %v", v, err)
			}
			whole, err := FoldEntries(Memory(t.Context(), node.Store, a.ID()))
			if err != nil {
				t.Fatal(err)
			}
			one, _ := done.fold.Hash()
			if other, _ := whole.fold.Hash(); one != other {
				t.Error("from genesis it comes to something else")
			}
		})
	}
}

// TestANodeJoinsHeadsItself runs an agent with many heads that nobody took a snapshot of.
func TestANodeJoinsHeadsItself(t *testing.T) {
	node, a := fan(t, 200)
	node.SnapshotEvery = 16
	if _, err := node.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	done, err := Load(t.Context(), node.Store, a.ID())
	if err != nil || done.fold.Ended == nil || len(done.fold.Heads) != 1 {
		t.Fatal(err, len(done.fold.Heads))
	}
	var b bytes.Buffer
	if err := WriteMemory(&b, Memory(t.Context(), node.Store, a.ID())); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(ReadMemory(bytes.NewReader(b.Bytes()), Limits{}), VerifyOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestHeadsAreReplacedInPlace holds the one pass over the heads against taking them away one by one.
func TestHeadsAreReplacedInPlace(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var f Fold
		for i := range 1 + rnd.IntN(40) {
			f.Heads = append(f.Heads, Head{Name: HashOf([]byte{byte(i), byte(rnd.Uint32())})})
		}
		slices.SortFunc(f.Heads, func(a, b Head) int { return a.Name.Compare(b.Name) })
		e := &Entry{Name: HashOf([]byte{byte(rnd.Uint32()), byte(rnd.Uint32()), 1})}
		want := []Head{{Name: e.Name}}
		for _, h := range f.Heads {
			if rnd.IntN(3) == 0 {
				e.Parents = append(e.Parents, h.Name)
			} else {
				want = append(want, h)
			}
		}
		slices.SortFunc(want, func(a, b Head) int { return a.Name.Compare(b.Name) })
		f.advanceHeads(e, Head{})
		if !slices.EqualFunc(f.Heads, want, func(a, b Head) bool { return a.Name == b.Name }) {
			t.Fatalf("%d heads, want %d", len(f.Heads), len(want))
		}
	}
}
