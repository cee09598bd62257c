package perdure

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// chooser chooses a number below n.
type chooser func(n int) int

// world is some nodes that write to one agent, each seeing what it was told.
type world struct {
	choose  chooser
	nodes   []*worldNode
	entries []*Entry // in the order they were written: parents before children
}

type worldNode struct {
	s *Signer
	a *Agent
}

var worldPeople = []string{"owner", "ann", "bob", "cy", "dee"}

// newWorld lets 2 to 5 nodes write some entries to one agent, and tell each other of them now and then.
func newWorld(choose chooser) (*world, error) {
	w := &world{choose: choose}
	n := func(v int64) *int64 { return &v }
	g := Genesis{Intent: Intent{Goal: "g", Budget: &Budget{Cost: n(100)}, Tools: []string{"x", "y"}},
		Charter: Charter{Owner: people["owner"].key, Scope: "acme", Depth: 2}}
	e, err := newEntry(Header{Time: TimeOf(epoch)}, &saltedBody{Content: g}, people["owner"].key)
	if err != nil {
		return nil, err
	}
	mark(e)
	w.entries = []*Entry{e}
	for i := range 2 + choose(4) {
		a, err := Begin(e)
		if err != nil {
			return nil, err
		}
		w.nodes = append(w.nodes, &worldNode{s: people[worldPeople[i]], a: a})
	}
	for range 3 + choose(14) {
		node := w.nodes[choose(len(w.nodes))]
		if choose(4) == 0 {
			err = w.tell(node)
		} else {
			err = w.write(node)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// mark stands for a signature: what is tested here is the fold.
func mark(e *Entry) {
	e.Signature = bytes.Repeat([]byte{1}, signatureSize)
	e.verified = 1
}

// tell tells a node what another knows.
func (w *world) tell(node *worldNode) error {
	from := w.nodes[w.choose(len(w.nodes))]
	known := slices.Collect(from.a.Recent())
	w.shuffle(known)
	next, err := node.a.Apply(known...)
	if err != nil {
		return fmt.Errorf("tell: %w", err)
	}
	node.a = next
	return nil
}

func (w *world) shuffle(entries []*Entry) {
	for i := len(entries) - 1; i > 0; i-- {
		j := w.choose(i + 1)
		entries[i], entries[j] = entries[j], entries[i]
	}
}

// write lets a node write one entry on top of what it knows, or of a part of its heads.
func (w *world) write(node *worldNode) error {
	f := node.a.fold
	if slices.Contains(f.Revoked, node.s.key) {
		return nil
	}
	parents := node.a.Heads()
	if len(parents) > 1 && w.choose(3) == 0 {
		parents = parents[:1]
	}
	highest, _ := f.highest(parents)
	h := Header{Agent: f.Agent, Parents: parents, Seq: highest + 1, Time: TimeOf(epoch) + Time(w.choose(100_000))}
	rec := saltedBody{Content: w.body(f)}
	rec.Salt[0] = byte(len(w.entries))
	e, err := newEntry(h, &rec, node.s.key)
	if err != nil {
		return err
	}
	mark(e)
	next, err := node.a.Apply(e)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	node.a, w.entries = next, append(w.entries, e)
	return nil
}

// some is one of a list, or the zero value.
func some[T any](w *world, list []T) T {
	var v T
	if len(list) > 0 {
		v = list[w.choose(len(list))]
	}
	return v
}

// body is something to write, about what the fold holds.
func (w *world) body(f *Fold) Body {
	scopes := []string{"acme/a", "acme/b", "acme/a/c", "acme"}
	scope := some(w, scopes)
	key := people[some(w, worldPeople)].key
	amount := int64(1 + w.choose(9))
	choice := w.choose(24)
	if len(f.Asks) > 0 && w.choose(2) == 0 {
		choice = 7 + w.choose(2)
	}
	switch choice {
	case 0, 1:
		return Advice{Advisor: "a", Actions: []Action{Execute{Tool: "x"}, Sleep{Trigger: After{Millis: amount}},
			Mutate{Scope: &scope}}, Usage: &Usage{In: amount}, Seen: []Hash{some(w, f.Inbox).Event}}
	case 2, 3:
		p := some(w, f.Proposals)
		d := Decision{Advice: p.Advice, Verdict: Verdict{Answer: Answer(w.choose(3))}, Effect: Effect(1 + w.choose(3)),
			Reserve: &Spend{Cost: amount}}
		if len(p.Actions) == 0 {
			d.Action = Execute{Tool: "y"}
		} else {
			d.Index = int64(w.choose(len(p.Actions)))
		}
		return d
	case 4, 5, 6:
		return Outcome{Decision: some(w, f.Open).Decision, Signal: Signal(1 + w.choose(8)), Spend: &Spend{Cost: amount},
			Taint: amount == 1}
	case 7:
		q := some(w, f.Asks)
		return event(Approval{Decision: q.Decision, Digest: q.Digest, Approve: w.choose(3) > 0})
	case 8:
		q := some(w, f.Asks)
		d := Decision{Advice: q.Advice, Index: q.Index, Action: q.Action, Verdict: Verdict{Answer: Allow}}
		if d.Action == nil {
			d.Action = Execute{Tool: "y"}
		}
		for _, v := range q.Votes {
			d.Approvals = append(d.Approvals, v.Event)
		}
		return d
	case 9:
		return event(Pause{})
	case 10:
		return event(Resume{Of: f.Paused})
	case 11:
		return event(KeyChange{Revoke: key})
	case 12:
		return event(KeyChange{Owner: key})
	case 13:
		return event(KeyChange{Owner: key, Revoke: f.Charter.Owner})
	case 14:
		return event(Grant{Amount: Spend{Cost: amount}})
	case 15:
		return event(Edit{Mutate: Mutate{Scope: &scope, Budget: &Budget{Calls: &amount}, Tools: []string{"y"}}})
	case 16:
		if w.choose(3) > 0 {
			return event(Settle{Decision: some(w, f.Open).Decision, Signal: OK})
		}
		return event(Cancel{})
	case 17:
		if f.Sleep != nil {
			return allowed(Wake{Sleep: f.Sleep.Decision, By: []Hash{some(w, f.Inbox).Event}})
		}
		return allowed(Sleep{Trigger: On{Event: "n"}})
	case 19, 20:
		at := Hash{byte(amount % 3)}
		of := f.seatClaims()
		if choice == 20 {
			return event(SeatGiven{At: at, Of: of, Owned: amount > 4})
		}
		return event(SeatTaken{At: at, Of: of, Lost: amount > 4})
	case 21:
		return Decision{Action: Execute{Tool: "pay"}, Verdict: Verdict{Answer: Allow}, Effect: Once}
	case 18:
		return Event{Name: "n", By: "b", ID: fmt.Sprint(amount % 3),
			Set: map[string]Data{"v": {byte(amount)}, scope: {0xf6}}}
	}
	return Event{Name: "n", Set: map[string]Data{scope: {byte(amount)}}}
}

// sameWhateverTheOrder holds the folds of several orders of arrival against each other.
func (w *world) sameWhateverTheOrder() error {
	want, err := FoldEntries(seq(w.entries))
	if err != nil {
		return fmt.Errorf("in the order they were written: %w", err)
	}
	wantBytes, err := want.fold.MarshalBinary()
	if err != nil {
		return err
	}
	for range 2 {
		entries := slices.Clone(w.entries)
		for range w.choose(4) { // some come twice
			entries = append(entries, some(w, w.entries))
		}
		w.shuffle(entries)
		a, err := arrive(entries, func() bool { return w.choose(3) > 0 })
		if err != nil {
			return fmt.Errorf("in another order: %w", err)
		}
		got, err := a.fold.MarshalBinary()
		if err != nil {
			return err
		}
		if !bytes.Equal(got, wantBytes) {
			return fmt.Errorf("%d entries in another order fold to\n%s\nwant\n%s", len(w.entries), describe(a),
				describe(want))
		}
	}
	return nil
}

// sameFromAnywhere folds the memory from what a part of it had come to, and holds that against the fold of all of it.
func (w *world) sameFromAnywhere() error {
	want, err := FoldEntries(seq(w.entries))
	if err != nil {
		return err
	}
	n := 1 + w.choose(len(w.entries))
	part, err := FoldEntries(seq(w.entries[:n]))
	if err != nil {
		return err
	}
	b, err := part.fold.MarshalBinary()
	if err != nil {
		return err
	}
	f := new(Fold)
	if err := foldCodec.Decode(b, f, Limits{}); err != nil {
		return err
	}
	top := Position{Seq: f.Seq, Name: Hash(bytes.Repeat([]byte{0xff}, 32))}
	a, err := fromFold(f, top, w.entries[0]).Apply(w.entries[n:]...)
	if err == ErrBehind {
		return nil
	}
	if err != nil {
		return fmt.Errorf("from the fold of %d entries: %w", n, err)
	}
	got, err := a.fold.MarshalBinary()
	if err != nil {
		return err
	}
	if all, err := want.fold.MarshalBinary(); err != nil || !bytes.Equal(got, all) {
		return fmt.Errorf("%d entries from the fold of %d come to\n%s\nwant\n%s", len(w.entries), n, describe(a),
			describe(want))
	}
	return nil
}

func TestEveryOrderOfArrivalFoldsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, err := newWorld(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		if err == nil {
			err = w.sameWhateverTheOrder()
		}
		if err == nil {
			err = w.sameFromAnywhere()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestHundredThousandMemoriesFoldTheSameInEveryOrder(t *testing.T) {
	t.Parallel()
	memories := uint64(100_000)
	if testing.Short() {
		memories = 2_000
	}
	workers := uint64(runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for first := range workers {
		wg.Go(func() {
			for seed := first; seed < memories && !t.Failed(); seed += workers {
				w, err := newWorld(rand.New(rand.NewPCG(seed, 0)).IntN)
				if err == nil {
					err = w.sameWhateverTheOrder()
				}
				if err == nil && seed%8 == 0 {
					err = w.sameFromAnywhere()
				}
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	wg.Wait()
}
