package perdure

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// flipMemory is a memory of just over 64 KiB in which every kind of entry occurs, with a signature at every eighth
// entry and a snapshot.
func flipMemory(t *testing.T) []*Entry {
	t.Helper()
	s := people["owner"]
	g, err := s.Genesis(Genesis{Intent: Intent{Goal: "be read", Labels: map[string]string{"a": "b"}},
		Charter: Charter{Scope: "acme"}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	entries, size := []*Entry{g}, 0
	result, err := DataOf(map[string]any{"text": strings.Repeat("the tool said this. ", 60), "ok": true, "n": 1.5,
		"list": []any{1, nil, "é"}})
	if err != nil {
		t.Fatal(err)
	}
	for size < 64<<10 {
		var b Body
		last := entries[len(entries)-1]
		switch len(entries) % 6 {
		case 1:
			b = Advice{Advisor: "a", Model: "m", Text: strings.Repeat("thinking. ", 100),
				Actions: []Action{Execute{Tool: "x", Args: result}}, Usage: &Usage{In: 300, Out: 20}}
		case 2:
			b = Decision{Advice: last.Name, Verdict: Verdict{Answer: Allow, Rules: []string{"r"}}, Effect: Idempotent,
				Deadline: TimeOf(epoch.Add(time.Hour)), Reserve: &Spend{Calls: 1}}
		case 3:
			b = Outcome{Decision: last.Name, Signal: OK, Result: result, Spend: &Spend{Cost: 3, Calls: 1}}
		case 4:
			b = Event{Name: "told", By: "ann", ID: fmt.Sprint(len(entries)), Data: result,
				Set: map[string]Data{"k": {1}}}
		case 5:
			b = Event{Name: "grant", Notice: Grant{Amount: Spend{Cost: 5}}}
		default:
			b = Decision{Action: Sleep{Trigger: Any{Of: []Trigger{After{Millis: 9}, On{Event: "e", Filter: "true"}}}},
				Verdict: Verdict{Answer: Deny}}
		}
		if len(entries) == 20 {
			b = Snapshot{Fold: *a.fold}
		}
		e, next, err := s.extend(a, epoch.Add(time.Duration(len(entries))*time.Second), Draft{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		if size += len(e.header) + len(e.body) + 10; size >= 64<<10 || len(entries)%8 == 0 {
			if err := s.seal(e); err != nil {
				t.Fatal(err)
			}
		}
		a, entries = next, append(entries, e)
	}
	return entries
}

// flipReader reads a memory that differs from a good one from some entry on: what Verify does, begun after the entries
// that are the same.
type flipReader struct {
	good   []byte
	starts []int       // where each entry starts
	states []*verifier // of Verify, before each entry
	heads  []Hash
}

func newFlipReader(t *testing.T) *flipReader {
	t.Helper()
	entries := flipMemory(t)
	r := &flipReader{good: memoryBytes(t, entries), heads: []Hash{entries[len(entries)-1].Name}}
	v := newVerifier(VerifyOptions{Heads: r.heads})
	at := 0
	for e, err := range ReadMemory(bytes.NewReader(r.good), Limits{}) {
		if err != nil {
			t.Fatal(err)
		}
		r.starts, r.states = append(r.starts, at), append(r.states, v.copy())
		if v.a.fold != nil {
			v.a.fold.own = owned{} // what the copy shares must not be written to
		}
		v.tally(e)
		if err := v.add(e); err != nil {
			t.Fatal(err)
		}
		b, err := e.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		at += len(b)
	}
	if _, err := v.report(); err != nil || at != len(r.good) {
		t.Fatalf("the memory itself: %v, %d of %d bytes", err, at, len(r.good))
	}
	return r
}

// copy is a verifier in the same state.
func (v *verifier) copy() *verifier {
	c := *v
	a := *v.a
	if a.fold != nil {
		a.fold = a.fold.clone()
	}
	c.a, c.origins, c.count, c.seals.others = &a, map[Key]*int64{}, nil, maps.Clone(v.seals.others)
	return &c
}

// read verifies b, which is good before the byte at.
func (r *flipReader) read(b []byte, at int) error {
	k, _ := slices.BinarySearch(r.starts, at+1)
	k--
	v := r.states[k].copy()
	switch err := v.stream(ReadMemory(bytes.NewReader(b[r.starts[k]:]), Limits{})); err {
	case nil:
	case ErrBehind: // it takes all of the memory, as Verify finds out too
		return r.readWhole(b)
	default:
		return err
	}
	_, err := v.report()
	return err
}

// readWhole verifies b from its beginning.
func (r *flipReader) readWhole(b []byte) error {
	_, err := Verify(ReadMemory(bytes.NewReader(b), Limits{}), VerifyOptions{Heads: r.heads})
	return err
}

// each calls f for the numbers below n, on all processors, and holds the error it returns against the predicates there
// are.
func (r *flipReader) each(t *testing.T, n int, f func(scratch []byte, i int) error) {
	t.Helper()
	known := map[string]bool{}
	for _, p := range Predicates() {
		known[p.Name] = true
	}
	var mu sync.Mutex
	count := map[string]int{}
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for first := range workers {
		wg.Go(func() {
			scratch := bytes.Clone(r.good)
			mine := map[string]int{}
			for i := first; i < n && !t.Failed(); i += workers {
				err := f(scratch, i)
				rej, ok := err.(*Rejection)
				if !ok || !known[rej.Predicate] {
					t.Errorf("change %d: got %v, want a rejection by a known predicate", i, err)
					return
				}
				mine[rej.Predicate]++
			}
			mu.Lock()
			defer mu.Unlock()
			for p, n := range mine {
				count[p] += n
			}
		})
	}
	wg.Wait()
	for _, p := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%7d by %s", count[p], p)
	}
}

func TestEveryFlippedBitIsRejected(t *testing.T) {
	t.Parallel()
	r := newFlipReader(t)
	bits := 8 * len(r.good)
	if bits < 524_288 {
		t.Fatalf("got a memory of %d bits, want 64 KiB", bits)
	}
	step := 1
	if testing.Short() {
		step = 17
	}
	r.each(t, bits/step, func(b []byte, i int) error {
		i *= step
		b[i/8] ^= 1 << (i % 8)
		defer func() { b[i/8] ^= 1 << (i % 8) }()
		err := r.read(b, i/8)
		if i%4001 == 0 { // the short way must say what the long way says
			whole := r.readWhole(b)
			x, ok1 := whole.(*Rejection)
			y, ok2 := err.(*Rejection)
			if !ok1 || !ok2 || x.Predicate != y.Predicate || x.Path != y.Path || x.Entry != y.Entry {
				return fmt.Errorf("bit %d: got %v, from the beginning %v", i, err, whole)
			}
		}
		return err
	})
}

func TestEveryTruncationIsRejected(t *testing.T) {
	t.Parallel()
	r := newFlipReader(t)
	r.each(t, len(r.good), func(b []byte, n int) error {
		if n%1009 == 0 {
			return r.readWhole(b[:n])
		}
		return r.read(b[:n], n)
	})
}

func TestFlippedBitIsNoticedWithinOneBuffer(t *testing.T) {
	entries := benchMemory(t, 1200, 64)
	raw := memoryBytes(t, entries)
	for _, at := range []int{100, 70_000, 500_000, 1_000_000} {
		b := bytes.Clone(raw)
		b[at] ^= 0x80
		in := &countingReader{r: bytes.NewReader(b)}
		if _, err := Verify(ReadMemory(in, Limits{}), VerifyOptions{}); err == nil {
			t.Fatalf("byte %d: the change went unnoticed", at)
		}
		if in.n > at+memoryBlock+4096 {
			t.Errorf("byte %d was noticed after %d bytes, want within a buffer of %d", at, in.n, memoryBlock)
		}
	}
}

type countingReader struct {
	r *bytes.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
