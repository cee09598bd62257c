package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// draft is an entry of about so many bytes.
func draft(size int) perdure.Draft {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i * 31)
	}
	d, err := perdure.DataOf(b)
	if err != nil {
		panic(err)
	}
	return perdure.Draft{Body: perdure.Event{Name: "e", Data: d}}
}

func newSigner(tb testing.TB) *perdure.Signer {
	s, err := perdure.GenerateSigner("bench")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func begin(tb testing.TB, s *perdure.Signer, name string) (*perdure.Entry, *perdure.Agent) {
	g, err := s.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "watch the build and say when it is green",
		Name: name}, Charter: perdure.Charter{Scope: "acme/ops"}}, began)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		tb.Fatal(err)
	}
	return g, a
}

func commit(tb testing.TB, s *perdure.Signer, a *perdure.Agent, drafts ...perdure.Draft) ([]*perdure.Entry,
	*perdure.Agent) {
	es, next, err := s.Commit(a, began, drafts...)
	if err != nil {
		tb.Fatal(err)
	}
	return es, next
}

func openBench(tb testing.TB, path string) *Store {
	s, err := Open(tb.Context(), path, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// settled is the bytes of a closed store on disk.
func settled(tb testing.TB, path string) int64 {
	var total int64
	files, err := filepath.Glob(path + "*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		err := filepath.WalkDir(f, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				total += info.Size()
			}
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return total
}

// BenchmarkAppend appends commits of one entry of 1 KiB. Beside it, with the same committer, SQLite alone: one INSERT
// of each entry's body.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("raw/writers=%d", writers), func(b *testing.B) {
			s, commits := prepare(b, writers)
			err := s.submit(b.Context(), &request{apply: func(w *writer) error {
				return w.do("CREATE TABLE raw(rid INTEGER PRIMARY KEY, data BLOB)")
			}})
			if err != nil {
				b.Fatal(err)
			}
			spread(b, writers, func(i int) {
				for _, es := range commits[i] {
					err := s.submit(b.Context(), &request{bytes: 1024, apply: func(w *writer) error {
						return w.do("INSERT INTO raw(data) VALUES(?)", es[0].BodyBytes())
					}})
					if err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run(fmt.Sprintf("store/writers=%d", writers), func(b *testing.B) {
			s, commits := prepare(b, writers)
			spread(b, writers, func(i int) {
				for _, es := range commits[i] {
					if err := s.Append(b.Context(), es[0].Agent, es[0].Parents, es...); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// prepare returns a store with an agent for each writer, and b.N commits for them to append.
func prepare(b *testing.B, writers int) (*Store, [][][]*perdure.Entry) {
	s := openBench(b, filepath.Join(b.TempDir(), "store"))
	commits := make([][][]*perdure.Entry, writers)
	key := newSigner(b)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			g, a := begin(b, key, "")
			if err := s.Append(b.Context(), a.ID(), nil, g); err != nil {
				b.Error(err)
			}
			for range share(b.N, writers, i) {
				var es []*perdure.Entry
				es, a = commit(b, key, a, draft(1024))
				commits[i] = append(commits[i], es)
			}
		})
	}
	group.Wait()
	return s, commits
}

// share is how many of n fall to writer i.
func share(n, writers, i int) int { return (n + writers - 1 - i) / writers }

// spread runs b.N operations from many goroutines and reports how many there were in a second.
func spread(b *testing.B, writers int, f func(i int)) {
	runtime.GC() // what was made to be appended is not the store's to clean up
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() { f(i) })
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkWideAppend appends to many agents in turn, in no order.
func BenchmarkWideAppend(b *testing.B) {
	const agents = 100_000
	s := openBench(b, filepath.Join(b.TempDir(), "store"))
	key := newSigner(b)
	all := make([]*perdure.Agent, agents)
	populate(b, s, agents, func(i int) []*perdure.Entry {
		g, a := begin(b, key, "")
		all[i] = a
		return []*perdure.Entry{g}
	})
	commits := make([][]*perdure.Entry, b.N)
	for i := range commits {
		at := i * 7919 % agents
		commits[i], all[at] = commit(b, key, all[at], draft(1024))
	}
	spread(b, 256, func(i int) {
		for ; i < len(commits); i += 256 {
			es := commits[i]
			if err := s.Put(b.Context(), es[0].Agent, es...); err != nil {
				b.Error(err)
			}
		}
	})
}

// populate puts agents into the store, each with what entries returns for it.
func populate(tb testing.TB, s *Store, agents int, entries func(i int) []*perdure.Entry) {
	var group sync.WaitGroup
	const workers = 64
	for w := range workers {
		group.Go(func() {
			for i := w; i < agents; i += workers {
				es := entries(i)
				if err := s.Put(tb.Context(), es[0].ID(), es...); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkRead opens a store and reads an agent of 1,000 entries.
func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store")
	s := openBench(b, path)
	key := newSigner(b)
	g, a := begin(b, key, "")
	all := []*perdure.Entry{g}
	for range 333 {
		var es []*perdure.Entry
		es, a = commit(b, key, a, draft(150), draft(100), draft(1024))
		all = append(all, es...)
	}
	if err := s.Put(b.Context(), a.ID(), all...); err != nil {
		b.Fatal(err)
	}
	var opening time.Duration
	for b.Loop() {
		start := time.Now()
		s := openBench(b, path)
		opening += time.Since(start)
		n := 0
		for _, err := range s.Entries(b.Context(), a.ID(), 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != len(all) {
			b.Fatalf("%d entries, want %d", n, len(all))
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(opening.Seconds()*1000/float64(b.N), "open-ms")
	b.ReportMetric(float64((b.Elapsed()-opening).Nanoseconds())/float64(b.N)/float64(len(all)), "ns/entry")
}

// populateSleep puts agents into the store that sleep, each until another time.
func populateSleep(tb testing.TB, s *Store, key *perdure.Signer, agents int) {
	populate(tb, s, agents, func(i int) []*perdure.Entry {
		g, a := begin(tb, key, fmt.Sprintf("agent-%d", i))
		until := began.Add(time.Duration(i*7919%agents) * time.Second)
		es, _ := commit(tb, key, a, perdure.Draft{Body: perdure.Decision{
			Action:  perdure.Sleep{Trigger: perdure.At{Time: perdure.TimeOf(until)}},
			Verdict: perdure.Verdict{Answer: perdure.Allow},
		}})
		return append([]*perdure.Entry{g}, es...)
	})
}

// BenchmarkDormant is a store full of agents that sleep. PERDURE_AGENTS says how many; a million take minutes to make.
func BenchmarkDormant(b *testing.B) {
	agents, err := strconv.Atoi(os.Getenv("PERDURE_AGENTS"))
	if err != nil {
		agents = 20_000
	}
	path := filepath.Join(b.TempDir(), "store")
	s := openBench(b, path)
	key := newSigner(b)
	populateSleep(b, s, key, agents)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var opening, looking time.Duration
	for b.Loop() {
		start := time.Now()
		s := openBench(b, path)
		opening += time.Since(start)
		start = time.Now()
		n := 0
		for _, err := range s.Due(b.Context(), began.AddDate(100, 0, 0)) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == 1000 {
				break
			}
		}
		looking += time.Since(start)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(settled(b, path))/float64(agents), "B/agent")
	b.ReportMetric(opening.Seconds()*1000/float64(b.N), "open-ms")
	b.ReportMetric(looking.Seconds()*1000/float64(b.N), "due1000-ms")
}

// TestStepTakesFewBytes holds the size of a step on disk: advice, decision and an outcome with a result of 1 KiB, in
// one commit.
func TestStepTakesFewBytes(t *testing.T) {
	const steps, most = 500, 1700
	path := filepath.Join(t.TempDir(), "store")
	s := openBench(t, path)
	key := newSigner(t)
	g, a := begin(t, key, "agent")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	args, _ := perdure.DataOf(map[string]any{"url": "https://ci.example/acme/ops/1"})
	result, _ := perdure.DataOf(strings.Repeat("0123456789abcdef", 64))
	policy, headers, bodies := perdure.HashOf([]byte("policy")), 0, 0
	for i := range steps {
		advice := perdure.Advice{
			Advisor: "anthropic", Model: "model-1", Actions: []perdure.Action{perdure.Execute{Tool: "fetch",
				Args: args}},
			Text: "Look whether the build is green.", Usage: &perdure.Usage{In: 1000, Out: 100},
		}
		first, next, err := key.Commit(a, began.Add(time.Duration(i)*time.Second),
			perdure.Draft{Body: advice, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		_ = next
		decision := perdure.Decision{
			Advice: first[0].Name, Verdict: perdure.Verdict{Answer: perdure.Allow, Rules: []string{"fetch"}},
			Effect:   perdure.Once,
			Deadline: perdure.TimeOf(began.Add(time.Hour)),
		}
		outcome := perdure.Outcome{Decision: first[0].Name, Signal: perdure.OK, Latency: 120, Result: result}
		var es []*perdure.Entry
		es, a, err = key.Commit(a, began.Add(time.Duration(i)*time.Second),
			perdure.Draft{Body: advice, Policy: policy}, perdure.Draft{Body: decision, Policy: policy},
			perdure.Draft{Body: outcome, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), a.ID(), es[0].Parents, es...); err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			headers, bodies = headers+len(e.HeaderBytes()), bodies+len(e.BodyBytes())
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := settled(t, path) / steps
	t.Logf("%d bytes on disk for a step with headers of %d and bodies of %d bytes", got, headers/steps, bodies/steps)
	if got > most {
		t.Errorf("a step takes %d bytes on disk, want at most %d", got, most)
	}
}
