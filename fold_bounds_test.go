package perdure

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// These tests count the work a hostile memory makes, not the time: the elements of lists that steps copy or compare,
// and the bytes they allocate.

// attack writes a memory by hand, as whoever wants to hurt its readers does.
type attack struct {
	t       testing.TB
	entries []*Entry
	salt    uint64
}

func newAttack(t testing.TB, g Genesis) *attack {
	t.Helper()
	w := &attack{t: t}
	g.Charter.Owner = people["owner"].key
	if g.Charter.Scope == "" {
		g.Charter.Scope = "acme"
	}
	w.put(g, people["owner"].key)
	return w
}

// key is the n-th of keys nobody has the other half of.
func (w *attack) key(n int) Key {
	var k Key
	copy(k[:], "attack")
	binary.BigEndian.PutUint64(k[24:], uint64(n))
	return k
}

// put writes an entry on top of others, or of the last one. It is not signed: signatures are not what is counted here.
func (w *attack) put(b Body, by Key, parents ...*Entry) *Entry {
	w.t.Helper()
	h := Header{Time: TimeOf(epoch) + Time(len(w.entries))}
	if len(w.entries) > 0 {
		if len(parents) == 0 {
			parents = w.entries[len(w.entries)-1:]
		}
		h.Agent = w.entries[0].ID()
		for _, p := range parents {
			h.Parents, h.Seq = append(h.Parents, p.Name), max(h.Seq, p.Seq+1)
		}
		slices.SortFunc(h.Parents, Hash.Compare)
	}
	rec := saltedBody{Content: b}
	binary.BigEndian.PutUint64(rec.Salt[:], w.salt)
	w.salt++
	e, err := newEntry(h, &rec, by)
	if err != nil {
		w.t.Fatal(err)
	}
	w.entries = append(w.entries, e)
	return e
}

// owner writes on top of the last entry.
func (w *attack) owner(b Body) *Entry { w.t.Helper(); return w.put(b, people["owner"].key) }

// cost is what folding entries into an agent makes, for each of them.
type cost struct{ work, bytes int64 }

func (c cost) String() string {
	return fmt.Sprintf("%d elements and %d bytes an entry", c.work, c.bytes)
}

// apply folds entries and counts.
func apply(t testing.TB, a *Agent, entries []*Entry) (*Agent, cost) {
	t.Helper()
	var before, after runtime.MemStats
	var work int64
	if a.fold != nil {
		work = a.fold.work
	}
	runtime.ReadMemStats(&before)
	next, err := a.apply(entries, true)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(len(entries))
	return next, cost{(next.fold.work - work) / n, int64(after.TotalAlloc-before.TotalAlloc) / n}
}

// TestEveryListIsBounded folds, for each list of the fold, a memory that only makes it longer, and holds the cost of an
// entry on top of that against what it may be: a few passes over a list that is full, and a few kilobytes.
func TestEveryListIsBounded(t *testing.T) {
	call := func(i int) Execute { return Execute{Tool: fmt.Sprint("t", i%7), Call: fmt.Sprint("c", i)} }
	allow := func(i int) Decision {
		return Decision{Action: call(i), Verdict: Verdict{Answer: Allow}, Effect: Once,
			Deadline: TimeOf(epoch.Add(time.Hour))}
	}
	tests := []struct {
		name  string
		limit int
		n     int // entries; zero: twice the limit
		write func(w *attack, i int)
		len   func(f *Fold) int
		want  func(f *Fold) bool // what became of what was beyond the limit
	}{
		{name: "open", limit: maxOpen, write: func(w *attack, i int) { w.owner(allow(i)) },
			len: func(f *Fold) int {
				return len(f.Open)
			}, want: func(f *Fold) bool {
				return f.Open[maxOpen-1].Action.(Execute).Call == fmt.Sprint("c", maxOpen-1)
			}},
		{name: "outcomes of open effects", limit: maxOpen, n: 4 * maxOpen, write: func(w *attack, i int) {
			if i < maxOpen {
				w.owner(allow(i))
				return
			}
			if i%2 == 0 {
				w.owner(Outcome{Decision: w.entries[i/2-maxOpen/2+1].Name, Signal: OK})
				return
			}
			w.owner(allow(i))
		}, len: func(f *Fold) int { return len(f.Open) }},
		{name: "asks", limit: maxAsks, write: func(w *attack, i int) {
			w.owner(Decision{Action: call(i), Verdict: Verdict{Answer: Ask, Reason: "why"}})
		}, len: func(f *Fold) int { return len(f.Asks) }, want: func(f *Fold) bool { return f.Denials == maxAsks }},
		{name: "votes", limit: maxVotes, n: 1 + 4*maxVotes, write: func(w *attack, i int) {
			if i == 0 {
				w.owner(Decision{Action: call(i), Verdict: Verdict{Answer: Ask}})
				return
			}
			ask := w.entries[1]
			digest, _ := effectDigest(w.entries[0].ID(), ask.Name, call(0))
			w.put(Event{Name: "vote", Notice: Approval{Decision: ask.Name, Digest: digest, Approve: i != 4*maxVotes}},
				w.key(i))
		}, len: func(f *Fold) int { return len(f.Asks[0].Votes) }, want: func(f *Fold) bool {
			return (&Capabilities{}).tally(f, &f.Asks[0], f.Updated).Refused
		}},
		{name: "owed", limit: maxOwed, n: 4 * maxOwed, write: func(w *attack, i int) {
			if i%2 == 0 {
				w.owner(allow(i))
				return
			}
			w.owner(Outcome{Decision: w.entries[len(w.entries)-1].Name, Signal: Throttled})
		}, len: func(f *Fold) int { return len(f.Owed) }, want: func(f *Fold) bool { return len(f.Open) == 0 }},
		{name: "pauses", limit: maxPaused, n: 1024, write: func(w *attack, i int) {
			w.owner(Event{Name: "pause", Notice: Pause{}})
		},
			len: func(f *Fold) int { return len(f.Paused) }},
		{name: "revocations", limit: maxKeys, n: 1000, write: func(w *attack, i int) {
			w.owner(Event{Name: "keys", Notice: KeyChange{Revoke: w.key(i + 1)}})
		}, len: func(f *Fold) int {
			return len(f.Heads[0].Knows)
		}, want: func(f *Fold) bool { return f.Contested && len(f.Revoked) == maxKeys }},
		{name: "owners", limit: maxKeys, n: 1000, write: func(w *attack, i int) {
			by := w.key(i)
			if i == 0 {
				by = people["owner"].key
			}
			w.put(Event{Name: "keys", Notice: KeyChange{Owner: w.key(i + 1)}}, by)
		}, len: func(f *Fold) int {
			return len(f.Heads[0].Owners)
		}, want: func(f *Fold) bool { return f.Contested && len(f.Former) == maxKeys }},
		{name: "vars", limit: maxVars, write: func(w *attack, i int) {
			w.owner(Event{Name: "set", Set: map[string]Data{fmt.Sprint("v", i): {0x01}}})
		}, len: func(f *Fold) int { return len(f.Vars) }},
		{name: "var bytes", limit: maxVarBytes, n: 256, write: func(w *attack, i int) {
			d, _ := DataOf(strings.Repeat("x", 64<<10))
			w.owner(Event{Name: "set", Set: map[string]Data{fmt.Sprint("v", i): d}})
		}, len: func(f *Fold) int { return f.weigh().vars }},
		{name: "tools", limit: maxTools, n: 2048, write: func(w *attack, i int) {
			w.owner(Decision{Action: Execute{Tool: fmt.Sprint("t", i*7919%100_003)}, Verdict: Verdict{}})
		}, len: func(f *Fold) int { return len(f.Tools) }},
		{name: "incapable", limit: maxIncapable, n: 2048, write: func(w *attack, i int) {
			w.put(Advice{Advisor: "m", Signal: Incapable}, w.key(i))
		}, len: func(f *Fold) int { return len(f.Incapable) }},
		{name: "dedupe and inbox", limit: maxDedupe, n: 4 * maxDedupe, write: func(w *attack, i int) {
			w.owner(Event{Name: "e", By: strings.Repeat("b", 100), ID: fmt.Sprint(i)})
		}, len: func(f *Fold) int { return max(len(f.Dedupe), len(f.Inbox)) }},
		{name: "long ids", limit: maxDedupe * maxDedupeID, n: 512, write: func(w *attack, i int) {
			w.owner(Event{Name: "e", ID: strings.Repeat("b", 1<<10) + fmt.Sprint(i), Notice: Grant{}})
		}, len: func(f *Fold) int {
			return texts(f.Dedupe)
		}, want: func(f *Fold) bool { return len(f.Dedupe[0]) <= maxDedupeID }},
		{name: "seen one by one", limit: maxInbox, n: 4 * maxInbox, write: func(w *attack, i int) {
			if i < maxInbox || i%2 == 0 {
				w.owner(Event{Name: "e"})
				return
			}
			w.owner(Advice{Advisor: "m", Seen: []Hash{w.entries[i-maxInbox/2].Name}})
		}, len: func(f *Fold) int { return len(f.Inbox) }},
		{name: "proposals", limit: maxAdvice, n: 256, write: func(w *attack, i int) {
			var actions []Action
			for range maxActions {
				actions = append(actions, End{Signal: OK})
			}
			if i > 8 {
				actions = actions[:1]
			}
			w.owner(Advice{Advisor: "m", Actions: actions})
		}, len: func(f *Fold) int { return len(f.Proposals) }},
		{name: "polls", limit: maxTriggers, n: 1024, write: func(w *attack, i int) {
			if i == 0 {
				w.owner(Decision{Action: Sleep{Trigger: After{Millis: 1 << 40}}, Verdict: Verdict{Answer: Allow}})
				return
			}
			w.owner(Decision{Action: Execute{Tool: "p", Call: fmt.Sprint(pollCall, i-1)}, Verdict: Verdict{}})
		}, len: func(f *Fold) int { return len(f.Sleep.Polls) }},
		{name: "enclosed", limit: maxEnclosed, n: 1024, write: func(w *attack, i int) {
			w.owner(Event{Name: "enclosed", Notice: Enclosed{Of: Hash(w.key(i)), Kind: EnclosedPolicy,
				Text: Data{0x01}}})
		}, len: func(f *Fold) int { return len(f.Enclosed) }},
		{name: "admitted", limit: maxKeys, n: 1024, write: func(w *attack, i int) {
			w.put(Event{Name: "admitted", Notice: Admitted{}}, w.key(i))
		}, len: func(f *Fold) int { return len(f.Admitted) }},
		{name: "seats", limit: maxSeats, n: 1024, write: func(w *attack, i int) {
			w.owner(Event{Name: "seat", Notice: SeatTaken{At: Hash(w.key(i))}})
		}, len: func(f *Fold) int { return len(f.Seats) }, want: (*Fold).Disputed},
		{name: "seats by as many keys", limit: maxSeats, n: 1024, write: func(w *attack, i int) {
			w.put(Event{Name: "seat", Notice: SeatTaken{At: Hash(w.key(i)), Lost: true}}, w.key(i))
		}, len: func(f *Fold) int { return len(f.Seats) }, want: (*Fold).Disputed},
		{name: "doubled", limit: maxDoubled, n: 1024, write: func(w *attack, i int) {
			w.owner(Event{Name: "doubled", Notice: Doubled{First: Hash(w.key(i)), Second: Hash(w.key(i + 1))}})
		}, len: func(f *Fold) int { return len(f.Doubled) }},
		{name: "acts", limit: maxActs, n: 1024, write: func(w *attack, i int) { w.owner(allow(i)) },
			len: func(f *Fold) int { return len(f.acts) }},
		{name: "conflicts", limit: maxConflicts, n: 1024, write: func(w *attack, i int) {
			w.owner(Outcome{Signal: OK})
		},
			len: func(f *Fold) int { return len(f.Conflicts) }},
	}
	// Children have a test of their own, and recheck is bounded where its sleep is checked.
	tested := map[string]bool{"children": true, "recheck": true}
	for _, tt := range tests {
		for _, name := range strings.Fields(tt.name) {
			tested[name] = true
		}
	}
	for one, other := range map[string]string{"paused": "pauses", "revoked": "revocations", "former": "owners"} {
		tested[one] = tested[other]
	}
	for _, l := range new(Fold).lists() {
		if !tested[l.name] {
			t.Errorf("nothing counts the work of filling %s", l.name)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newAttack(t, Genesis{Charter: Charter{Depth: 4}})
			n := tt.n
			if n == 0 {
				n = 2 * tt.limit
			}
			for i := range n {
				tt.write(w, i)
			}
			a, _ := apply(t, new(Agent), w.entries[:1])
			a, _ = apply(t, a, w.entries[1:n/2])
			a, c := apply(t, a, w.entries[n/2:])
			if got := tt.len(a.fold); got > tt.limit {
				t.Errorf("it holds %d, want at most %d", got, tt.limit)
			}
			if tt.want != nil && !tt.want(a.fold) {
				t.Errorf("what goes beyond the limit is not read in the most restrictive way: %v", a.Diverged())
			}
			if most := int64(4*min(tt.limit, 4096) + 1024); c.work > most || c.bytes > 24<<10 {
				t.Errorf("%v, want at most %d and %d", c, most, 24<<10)
			}
			t.Log(c)
			again, err := (&Agent{full: true}).apply(w.entries, true) // all at once comes to the same
			if err != nil {
				t.Fatal(err)
			}
			one, _ := a.fold.Hash()
			if other, _ := again.fold.Hash(); one != other {
				t.Error("folded at once it comes to something else")
			}
			if name := a.fold.full(); name != "" {
				t.Errorf("a snapshot of it would be refused for its %s", name)
			}
		})
	}
}

// TestActsOnManyBranchesCostWhatOnesOnFewDo: however many branches a memory has, an entry is held against as many acts.
func TestActsOnManyBranchesCostWhatOnesOnFewDo(t *testing.T) {
	fold := func(branches int) cost {
		w := newAttack(t, Genesis{})
		for i := range branches {
			w.put(Decision{Action: Execute{Tool: "pay", Call: fmt.Sprint(i)}, Verdict: Verdict{Answer: Allow},
				Effect: Once, Deadline: TimeOf(epoch.Add(time.Hour))}, people["owner"].key, w.entries[0])
		}
		_, c := apply(t, new(Agent), w.entries)
		return c
	}
	few, many := fold(2*maxOpen), fold(8*maxOpen)
	t.Log(few, many)
	if many.work > few.work+few.work/2 {
		t.Errorf("%v with four times the branches of %v", many, few)
	}
}

// TestChildrenAreBounded is the same for children, whose decisions carry their genesis.
func TestChildrenAreBounded(t *testing.T) {
	w := newAttack(t, Genesis{Charter: Charter{Depth: 4}})
	s := people["owner"]
	g, err := s.Genesis(Genesis{Intent: Intent{Goal: "c"}, Charter: Charter{Scope: "acme", Owner: s.key},
		Lineage: &Lineage{Parent: w.entries[0].ID(), Relation: Child}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	child, err := g.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for range maxChildren + 512 {
		w.owner(Decision{Action: Delegate{Intent: Intent{Goal: "c"}}, Child: child, Verdict: Verdict{Answer: Allow},
			Effect: Idempotent})
		w.owner(Outcome{Decision: w.entries[len(w.entries)-1].Name, Signal: OK})
	}
	a, _ := apply(t, new(Agent), w.entries[:1])
	a, _ = apply(t, a, w.entries[1:2*maxChildren])
	a, c := apply(t, a, w.entries[2*maxChildren:])
	if len(a.fold.Children) != maxChildren || c.bytes > 48<<10 || c.work > 4*maxChildren {
		t.Errorf("%d children, %v", len(a.fold.Children), c)
	}
	t.Log(c)
	w = &attack{t: t, entries: w.entries}
	from := len(w.entries)
	for range 4 * maxEndedChildren / 2 {
		w.owner(Event{Name: "child-ended", Notice: ChildEnded{Child: g.ID(), Signal: OK}})
	}
	a, c = apply(t, a, w.entries[from:])
	if c.work > 4*maxChildren || c.bytes > 32<<10 {
		t.Error(c)
	}
	t.Log(c)
}

// An event costs the fold what is new, not what waits in the inbox, when events come one at a time: each fold sees the
// array of the one before.
func TestEventsCostWhatIsNew(t *testing.T) {
	s := people["owner"]
	g, err := s.Genesis(Genesis{Charter: Charter{Scope: "acme"}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	const events = 3 * maxInbox
	before, compared := a.fold.work, int64(0)
	for i := range events {
		compared += int64(min(i, maxDedupe)) // ids are held against those remembered, which are bounded
		if _, a, err = s.Commit(a, epoch, Draft{Body: Event{Name: "news", ID: fmt.Sprint(i), By: "desk"}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.fold.Inbox) != maxInbox {
		t.Errorf("%d events wait, want %d", len(a.fold.Inbox), maxInbox)
	}
	if work := a.fold.work - before - compared; work > 16*events {
		t.Errorf("%d events made %d elements be copied", events, work)
	}
}

// Agents that go on from one agent each see their own events, though their inboxes share an array.
func TestInboxesShareTheirPast(t *testing.T) {
	s := people["owner"]
	g, err := s.Genesis(Genesis{Charter: Charter{Scope: "acme"}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	told := func(a *Agent, name string) *Agent {
		t.Helper()
		_, next, err := s.Commit(a, epoch, Draft{Body: Event{Name: name, ID: name, By: "desk"}})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	check := func(a *Agent, want string) {
		t.Helper()
		var names []string
		for i := range a.fold.Inbox {
			names = append(names, a.fold.Inbox[i].Name)
		}
		if got := strings.Join(names, " "); got != want || len(a.fold.Dedupe) != len(names) ||
			a.fold.Dedupe[len(names)-1] != (&Event{By: "desk", ID: names[len(names)-1]}).dedupeID() {
			t.Errorf("inbox %q with ids %q, want %q", got, a.fold.Dedupe, want)
		}
	}
	first := told(a, "first")
	left, right := told(first, "left"), told(first, "right")
	if &left.fold.Inbox[0] != &first.fold.Inbox[0] || &right.fold.Inbox[0] == &first.fold.Inbox[0] {
		t.Error("the first to go on has the array, the second its own")
	}
	further, other := told(left, "further"), told(left, "other")
	again := told(right, "again")
	check(first, "first")
	check(left, "first left")
	check(right, "first right")
	check(further, "first left further")
	check(other, "first left other")
	check(again, "first right again")
}
