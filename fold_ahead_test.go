package perdure

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestWhatIsFoldedOnceIsFoldedAsAnythingElse writes random memories, and holds each entry that is folded without its
// name, and named afterwards, against the same entry folded under its name.
func TestWhatIsFoldedOnceIsFoldedAsAnythingElse(t *testing.T) {
	key, other := must(GenerateSigner("writer")), must(GenerateSigner("other"))
	once, changed, parted := map[Kind]int{}, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		g, err := key.Genesis(Genesis{Intent: Intent{Goal: "be folded", Advisor: "random"},
			Charter: Charter{Scope: "test"}}, now)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Begin(g)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 * tailWindow {
			if before := a; r.IntN(40) == 0 { // somebody else writes beside what comes next
				beside, _, err := other.Commit(before, now, Draft{Body: randomBody(r, a.fold, now)})
				if err == nil {
					_, a, err = key.Commit(a, now, Draft{Body: randomBody(r, a.fold, now)})
				}
				if err == nil {
					a, err = a.apply(beside, true)
				}
				if err != nil {
					t.Fatal(err)
				}
				if nameless := *beside[0]; len(a.fold.Heads) > 1 && a.ahead(unnamed(&nameless)) != nil {
					t.Fatalf("seed %d: an entry beside the last one was folded without its name", seed)
				}
				parted++
			}
			now = now.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
			who := key
			if r.IntN(20) == 0 {
				who = other
			}
			entries, next, err := who.Commit(a, now, Draft{Body: randomBody(r, a.fold, now)})
			if err != nil {
				t.Fatal(err)
			}
			e := entries[len(entries)-1]
			if nameless := *e; a.ahead(unnamed(&nameless)) != nil {
				once[e.Kind]++
				if len(a.fold.Revoked)+len(a.fold.Former) > 0 {
					t.Fatalf("seed %d: a %s was folded without its name after keys had changed", seed, e.Kind)
				}
			}
			if len(a.fold.Revoked)+len(a.fold.Former) > 0 {
				changed++
			}
			want, err := a.apply([]*Entry{e}, true)
			if err != nil {
				t.Fatal(err)
			}
			if due := min(a.fold.dueAfter(unnamed(&Entry{Header: e.Header, content: e.content}), now),
				maxAmount); e.Due != due {
				t.Fatalf("seed %d: due of a %s: %v, want %v", seed, e.Kind, e.Due, due)
			}
			sameAgent(t, seed, e, next, want)
			a = next
		}
	}
	if changed < 100 || parted < 20 {
		t.Errorf("%d entries after a key changed, %d written beside others, want many", changed, parted)
	}
	for _, k := range []Kind{KindAdvice, KindDecision, KindOutcome} {
		if once[k] < 100 {
			t.Errorf("%d %ss were folded once, want many", once[k], k)
		}
	}
}

// unnamed is e as it is before it is encoded.
func unnamed(e *Entry) *Entry {
	e.Name, e.Due, e.header, e.body = Hash{}, 0, nil, nil
	return e
}

// sameAgent fails unless two agents are the same in everything that what comes next depends on.
func sameAgent(t *testing.T, seed uint64, e *Entry, got, want *Agent) {
	t.Helper()
	plain := func(f *Fold) Fold {
		c := *f
		c.own, c.rooms, c.work = owned{}, rooms{}, 0
		c.weights = *c.weigh()
		c.work = 0
		c.Tools = nil
		for _, t := range f.Tools {
			t.room = nil
			c.Tools = append(c.Tools, t)
		}
		return c
	}
	if g, w := plain(got.fold), plain(want.fold); !reflect.DeepEqual(g, w) {
		t.Fatalf("seed %d: fold after a %s %+v:\n got %+v\nwant %+v", seed, e.Kind, e.content, g, w)
	}
	var g, w []Hash
	for e := range got.Recent() {
		g = append(g, e.Name)
	}
	for e := range want.Recent() {
		w = append(w, e.Name)
	}
	if !reflect.DeepEqual(g, w) || got.top != want.top || got.cur.n != want.cur.n || got.cur.size != want.cur.size ||
		!reflect.DeepEqual(got.authors, want.authors) {
		t.Fatalf("seed %d: after a %s: the agent holds %d entries up to %v, want %d up to %v", seed, e.Kind, len(g),
			got.top, len(w), want.top)
	}
	if (got.cur.base == nil) != (want.cur.base == nil) || got.cur.base != nil &&
		!reflect.DeepEqual(plain(got.cur.base), plain(want.cur.base)) {
		t.Fatalf("seed %d: after a %s: the base of the window differs", seed, e.Kind)
	}
}

// randomBody is something that a node, or a strange one, may write for an agent.
func randomBody(r *rand.Rand, f *Fold, now time.Time) Body {
	switch n := r.IntN(20); {
	case n < 6:
		return randomAdvice(r)
	case n < 12:
		return randomDecision(r, f, now)
	case n < 18:
		return randomOutcome(r, f)
	case n < 19:
		if r.IntN(60) == 0 {
			return Event{Name: "key", Notice: KeyChange{Revoke: Key(HashOf([]byte{byte(r.IntN(9))}))}}
		}
		return Event{Name: "news", By: "somebody"}
	}
	return Snapshot{Fold: *f}
}

func randomAdvice(r *rand.Rand) Advice {
	a := Advice{Advisor: []string{"", "random"}[r.IntN(2)]}
	for range r.IntN(4) {
		switch r.IntN(8) {
		case 0:
			a.Actions = append(a.Actions, Sleep{Trigger: After{Millis: int64(r.IntN(1000))}})
		case 1:
			a.Actions = append(a.Actions, Mutate{Goal: new("another")})
		default:
			a.Actions = append(a.Actions, Execute{Tool: []string{"look", "pay"}[r.IntN(2)],
				Args: must(DataOf(int64(r.IntN(3))))})
		}
	}
	switch r.IntN(12) {
	case 0:
		a.Summary = "so far so good"
	case 1:
		a.Signal = Failed
		a.Actions = nil
	case 2:
		a.Usage = &Usage{In: 3, Out: 4}
	case 3:
		a.Basis = &Basis{Reads: []Assumption{{Read: Execute{Tool: "look", Args: must(DataOf(int64(1)))}}}}
	}
	return a
}

func randomDecision(r *rand.Rand, f *Fold, now time.Time) Decision {
	d := Decision{Verdict: Verdict{Answer: Allow, Rules: []string{"test"}},
		Effect: []Effect{Read, Idempotent, Once}[r.IntN(3)]}
	if n := len(f.Proposals); n > 0 && r.IntN(8) > 0 {
		p := &f.Proposals[r.IntN(n)]
		d.Advice = p.Advice
		if len(p.Actions) > 0 {
			d.Index = int64(r.IntN(len(p.Actions)))
		}
	} else {
		d.Action = Execute{Tool: "look", Args: must(DataOf(int64(2)))}
	}
	switch r.IntN(8) {
	case 0:
		d.Verdict.Answer, d.Effect = Deny, 0
	case 1:
		d.Verdict.Answer, d.Effect = Ask, 0
	case 2:
		d.Key = HashOf([]byte{byte(r.IntN(4))})
	}
	if d.Verdict.Answer == Allow {
		d.Deadline, d.Reserve = TimeOf(now.Add(time.Duration(r.IntN(5))*time.Second)), &Spend{Calls: 1}
	}
	return d
}

func randomOutcome(r *rand.Rand, f *Fold) Outcome {
	o := Outcome{Signal: []Signal{OK, OK, OK, Failed, Throttled, TimedOut, Incapable}[r.IntN(7)],
		Took: int64(r.IntN(100))}
	switch n := len(f.Open); {
	case n > 0 && r.IntN(10) > 0:
		o.Decision = f.Open[r.IntN(n)].Decision
	case len(f.Asks) > 0:
		o.Decision, o.Signal = f.Asks[0].Decision, Denied
	default:
		o.Decision = HashOf([]byte("nothing"))
	}
	switch r.IntN(8) {
	case 0:
		o.Taint = true
	case 1:
		o.Set = map[string]Data{"x": must(DataOf(int64(r.IntN(9))))}
	case 2:
		o.Spend = &Spend{Calls: 1, Cost: 5}
	}
	return o
}
