package perdure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// foldOfPast folds everything in the past of an entry the plain way.
func foldOfPast(all []*Entry, e *Entry) (*Agent, error) {
	return (&Agent{full: true}).apply(sorted(byName(all).past(e.Parents...)), true)
}

func sameFold(got, want *Agent) error {
	g, err := got.fold.Hash()
	if err != nil {
		return err
	}
	w, err := want.fold.Hash()
	if err == nil && g != w {
		err = fmt.Errorf("got\n%s\nwant\n%s", describe(got), describe(want))
	}
	return err
}

func TestReplayShowsEveryAuthorWhatItSaw(t *testing.T) {
	memories := uint64(3_000)
	if testing.Short() {
		memories = 300
	}
	for seed := range memories {
		w, err := newWorld(rand.New(rand.NewPCG(seed, 7)).IntN)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for m, err := range Replay(seq(w.entries)) {
			if err != nil {
				t.Fatalf("seed %d: entry %d: %v", seed, n, err)
			}
			if m.Entry != w.entries[n] {
				t.Fatalf("seed %d: moment %d is of another entry", seed, n)
			}
			if n++; m.Entry.Kind == KindGenesis {
				if m.Before != nil {
					t.Fatalf("seed %d: something was before genesis", seed)
				}
				continue
			}
			want, err := foldOfPast(w.entries, m.Entry)
			if err == nil {
				err = sameFold(m.Before, want)
			}
			if err != nil {
				t.Fatalf("seed %d: before entry %d: %v", seed, n, err)
			}
		}
		if n != len(w.entries) {
			t.Fatalf("seed %d: %d moments of %d entries", seed, n, len(w.entries))
		}
	}
}

// longBranches is two branches of a memory, each longer than an Agent holds and one longer than Replay does, joined at
// the end.
func longBranches(t *testing.T, left, right int) []*Entry {
	t.Helper()
	owner := people["owner"]
	g, err := owner.Genesis(Genesis{Intent: Intent{Goal: "g"}, Charter: Charter{Scope: "acme"}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	root, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	grow := func(by string, n int) []*Entry {
		var out []*Entry
		a := root
		for i := range n {
			es, next, err := people[by].Commit(a, epoch.Add(time.Duration(i)*time.Second),
				Draft{Body: Event{Name: by, Set: map[string]Data{by: {byte(i % 24)}}}})
			if err != nil {
				t.Fatal(err)
			}
			out, a = append(out, es...), next
		}
		return out
	}
	all := slices.Concat([]*Entry{g}, grow("ann", left), grow("bob", right))
	a, err := FoldEntries(seq(all))
	if err != nil {
		t.Fatal(err)
	}
	join, _, err := owner.Commit(a, epoch.Add(time.Hour), Draft{Body: Event{Name: "join"}})
	if err != nil {
		t.Fatal(err)
	}
	return append(all, join...)
}

func TestReplayJoinsBranchesThatLieFarApart(t *testing.T) {
	for _, size := range [][2]int{{3, 5}, {100, 200}, {40, replayWindow + 50}, {replayWindow + 50, 3}} {
		all := longBranches(t, size[0], size[1])
		var last Moment
		for m, err := range Replay(seq(all)) {
			if err != nil {
				t.Fatalf("branches of %v: %v", size, err)
			}
			last = m
		}
		want, err := foldOfPast(all, last.Entry)
		if err == nil {
			err = sameFold(last.Before, want)
		}
		if err != nil {
			t.Errorf("branches of %v: before the join: %v", size, err)
		}
	}
}

func TestReplaySaysWhereBodiesAreGone(t *testing.T) {
	all := longBranches(t, 6, 0)
	a, err := FoldEntries(seq(all))
	if err != nil {
		t.Fatal(err)
	}
	tail, _, err := people["owner"].Commit(a, epoch.Add(2*time.Hour), Draft{Body: Snapshot{Fold: *a.fold}},
		Draft{Body: Event{Name: "after"}})
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, tail...)
	for i := 2; i < 4; i++ {
		all[i] = all[i].Drop()
	}
	var known []bool
	for m, err := range Replay(seq(all)) {
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, m.Before != nil)
	}
	want := []bool{false, true, true, false, false, false, false, false, false, true}
	if !slices.Equal(known, want) {
		t.Errorf("what an author saw is known for\n%v, want\n%v", known, want)
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a, err := Begin(must(people["owner"].Genesis(Genesis{Intent: Intent{Goal: "g"},
				Charter: Charter{Scope: "acme"}}, epoch)))
			if err != nil {
				b.Fatal(err)
			}
			all := slices.Collect(a.Recent())
			for range n {
				es, next, err := people["owner"].Commit(a, epoch, Draft{Body: Advice{Text: "t"}})
				if err != nil {
					b.Fatal(err)
				}
				all, a = append(all, es...), next
			}
			for b.Loop() {
				for _, err := range Replay(seq(all)) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
