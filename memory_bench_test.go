package perdure

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"
)

// benchSigner is a signer whose key is the same in every run.
func benchSigner(tb testing.TB) *Signer {
	tb.Helper()
	s, err := NewSigner("bench", ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// benchMemory is a memory of n entries of about 1 KiB with a signature at every so many and at the end: cycles of
// advice, decision and outcome, as a node writes them.
func benchMemory(tb testing.TB, n, signEvery int) []*Entry {
	tb.Helper()
	s := benchSigner(tb)
	now := time.UnixMilli(1_700_000_000_000)
	g, err := s.Genesis(Genesis{Intent: Intent{Goal: strings.Repeat("a goal in words. ", 40)},
		Charter: Charter{Scope: "acme/ops"}}, now)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := Begin(g)
	if err != nil {
		tb.Fatal(err)
	}
	entries := []*Entry{g}
	text := strings.Repeat("what the model thinks about it, in words. ", 17)
	result, err := DataOf(map[string]any{"rows": 12, "text": strings.Repeat("what the tool says. ", 36)})
	if err != nil {
		tb.Fatal(err)
	}
	args, err := DataOf(map[string]any{"path": "reports/2026", "query": strings.Repeat("select ", 90)})
	if err != nil {
		tb.Fatal(err)
	}
	for i := 1; i < n; i++ {
		var b Body
		switch last := entries[i-1]; i % 3 {
		case 1:
			b = Advice{Advisor: "script", Model: "none", Text: text, Actions: []Action{Execute{Tool: "query"}},
				Usage: &Usage{In: 900, Out: 40, Cost: 12}}
		case 2:
			b = Decision{Advice: last.Name, Action: Execute{Tool: "query", Args: args}, Verdict: Verdict{Answer: Allow},
				Effect: Read, Deadline: TimeOf(now.Add(time.Minute)), Reserve: &Spend{Calls: 1}}
		default:
			b = Outcome{Decision: last.Name, Signal: OK, Result: result, Spend: &Spend{Calls: 1}, Latency: 20}
		}
		e, next, err := s.extend(a, now.Add(time.Duration(i)*time.Millisecond), Draft{Body: b})
		if err != nil {
			tb.Fatal(err)
		}
		if i == n-1 || i%signEvery == 0 {
			if err := s.seal(e); err != nil {
				tb.Fatal(err)
			}
		}
		a, entries = next, append(entries, e)
	}
	return entries
}

func seq(entries []*Entry) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// memoryBytes is a memory as a stream.
func memoryBytes(tb testing.TB, entries []*Entry) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := WriteMemory(&b, seq(entries)); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func BenchmarkFloorSHA256(b *testing.B) {
	block := make([]byte, 1024)
	b.SetBytes(1024)
	for b.Loop() {
		sha256.Sum256(block)
	}
}

func BenchmarkFloorCopy(b *testing.B) {
	from, to := make([]byte, 1024), make([]byte, 1024)
	b.SetBytes(1024)
	for b.Loop() {
		copy(to, from)
	}
}

func BenchmarkEncodeAndHash(b *testing.B) {
	s := benchSigner(b)
	e := benchMemory(b, 4, 64)[3]
	rec := saltedBody{Content: e.content}
	b.SetBytes(int64(len(e.header) + len(e.body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newEntry(e.Header, &rec, s.key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeAndLink(b *testing.B) {
	e := benchMemory(b, 4, 64)[3]
	raw, err := e.MarshalBinary()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := DecodeEntry(raw, Limits{})
		if err != nil || d.Parents[0] != e.Parents[0] {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify100k(b *testing.B) {
	for _, every := range []int{1 << 30, 64} {
		name := "one signature"
		if every == 64 {
			name = "a signature every 64"
		}
		raw := memoryBytes(b, benchMemory(b, 100_000, every))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				v, err := Verify(ReadMemory(bytes.NewReader(raw), Limits{}), VerifyOptions{})
				if err != nil || v.Entries != 100_000 {
					b.Fatal(v, err)
				}
			}
		})
	}
}

func BenchmarkFold100k(b *testing.B) {
	entries := benchMemory(b, 100_000, 64)
	b.ReportAllocs()
	for b.Loop() {
		a, err := FoldEntries(seq(entries))
		if err != nil || a.fold.Count != 100_000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkEntry measures one more entry on a memory of so many: it must not depend on how many.
func BenchmarkEntry(b *testing.B) {
	for _, n := range []int{1_001, 100_001} {
		entries := benchMemory(b, n, 1)
		a, err := FoldEntries(seq(entries[:n-1]))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Apply(entries[n-1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
