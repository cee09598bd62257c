package capsule

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/perdure/perdure"
)

// sized is a size of a benchmark: out of the environment, or the default.
func sized(name string, or int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return or
}

// long is an agent with n entries of about size bytes, signed every 64.
func long(b testing.TB, n, size int) (*perdure.MemStore, perdure.AgentID) {
	b.Helper()
	w := newAuthor()
	g, a := w.genesis("long")
	s := new(perdure.MemStore)
	if err := s.Append(b.Context(), g.ID(), nil, g); err != nil {
		b.Fatal(err)
	}
	for i := 1; i < n; {
		var bodies []perdure.Body
		for ; i < n && len(bodies) < 64; i++ {
			bodies = append(bodies, event("step", size, uint64(i)))
		}
		es, next := w.commit(a, bodies...)
		if err := s.Append(b.Context(), a.ID(), a.Heads(), es...); err != nil {
			b.Fatal(err)
		}
		a = next
	}
	return s, g.ID()
}

// BenchmarkCapsule exports and reads agents with many entries and with large bodies, beside SHA-256 and zstd over the
// same bytes. What they hold meanwhile is for TestStreamingStaysWithinMemory. Sizes: PERDURE_BENCH_ENTRIES,
// PERDURE_BENCH_BLOBS (in MiB).
func BenchmarkCapsule(b *testing.B) {
	for _, c := range []struct {
		name    string
		n, size int
	}{
		{"entries", sized("PERDURE_BENCH_ENTRIES", 100_000), 1000},
		{"blobs", sized("PERDURE_BENCH_BLOBS", 64), 1 << 20},
	} {
		s, id := long(b, c.n, c.size)
		var raw int64 // bytes of headers and bodies: the same for every form
		for e, err := range perdure.Memory(b.Context(), s, id) {
			if err != nil {
				b.Fatal(err)
			}
			raw += int64(len(e.HeaderBytes()) + len(e.BodyBytes()))
		}
		b.Run(c.name, func(b *testing.B) { benchForms(b, s, id, raw) })
	}
}

func benchForms(b *testing.B, s perdure.Store, id perdure.AgentID, raw int64) {
	file := exportedB(b, s, id, Options{})
	var plain bytes.Buffer // the same bytes for both floors
	for e := range perdure.Memory(b.Context(), s, id) {
		plain.Write(e.HeaderBytes())
		plain.Write(e.BodyBytes())
	}
	b.Run("floor/sha256", func(b *testing.B) {
		b.SetBytes(raw)
		for b.Loop() {
			sha256.Sum256(plain.Bytes())
		}
	})
	b.Run("floor/zstd", func(b *testing.B) {
		b.SetBytes(raw)
		for b.Loop() {
			w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := w.Write(plain.Bytes()); err != nil {
				b.Fatal(err)
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("binary/import", func(b *testing.B) {
		b.SetBytes(raw)
		for b.Loop() {
			if _, err := Import(b.Context(), new(perdure.MemStore), bytes.NewReader(file),
				ImportOptions{Anyone: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, form := range forms {
		if form == Described && raw > 64<<20 {
			continue // it carries the schema through every entry: for looking at, not for bulk
		}
		file := file
		if form != Binary {
			file = exportedB(b, s, id, Options{Form: form})
		}
		b.Run(fmt.Sprint(form, "/export"), func(b *testing.B) {
			b.SetBytes(raw)
			for b.Loop() {
				if _, err := Export(b.Context(), io.Discard, s, id, Options{Form: form}); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, shallow := range []bool{false, true} {
			name := "verify"
			if shallow {
				name = "shallow"
			}
			b.Run(fmt.Sprint(form, "/", name), func(b *testing.B) {
				b.SetBytes(raw)
				for b.Loop() {
					r, err := NewReader(bytes.NewReader(file), ReadOptions{Shallow: shallow, Local: shallow})
					if err != nil {
						b.Fatal(err)
					}
					for _, err := range r.Entries() {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(len(file))/float64(raw), "size/raw")
			})
		}
	}
}

func exportedB(b *testing.B, s perdure.Store, id perdure.AgentID, o Options) []byte {
	var buf bytes.Buffer
	if _, err := Export(b.Context(), &buf, s, id, o); err != nil {
		b.Fatal(err)
	}
	return buf.Bytes()
}
