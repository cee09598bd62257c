package capsule

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/perdure/perdure"
)

// heap watches how much memory is in use above what was at first.
type heap struct {
	base, top uint64
	sample    []metrics.Sample
}

func newHeap() *heap {
	runtime.GC()
	h := &heap{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}}}
	h.base = h.read()
	return h
}

func (h *heap) read() uint64 {
	metrics.Read(h.sample)
	return h.sample[0].Value.Uint64() + h.sample[1].Value.Uint64()
}

func (h *heap) look() { h.top = max(h.top, h.read()) }

// above is the most that was in use above the base, in MiB.
func (h *heap) above() float64 { return float64(h.top-min(h.top, h.base)) / (1 << 20) }

// blobFile makes the file of an agent with n bodies of 1 MiB.
func blobFile(t testing.TB, n int) (string, perdure.AgentID) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blobs.agent")
	s := keep(t, path)
	w := newAuthor()
	g, a := w.genesis("blobs")
	if err := s.Append(t.Context(), g.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		// An outcome with a large result leaves nothing large in the fold.
		var b bytes.Buffer
		for j := 0; b.Len() < 1<<20; j++ {
			fmt.Fprintf(&b, "line %d of body %d: %x\n", j, i,
				perdure.HashOf([]byte{byte(i), byte(i >> 8), byte(j), byte(j >> 8)}))
		}
		body := perdure.Outcome{Decision: g.Name, Signal: perdure.OK, Result: must(perdure.DataOf(b.String()))}
		es, next := w.commit(a, body)
		if err := s.Append(t.Context(), g.ID(), a.Heads(), es...); err != nil {
			t.Fatal(err)
		}
		if a = next; i%8 == 7 { // the agent itself remembers recent entries: fold again what it needs
			es, _ = w.commit(a, snapshot(a))
			if err := s.Append(t.Context(), g.ID(), a.Heads(), es...); err != nil {
				t.Fatal(err)
			}
			a = must(perdure.FromSnapshot(es[0]))
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, g.ID()
}

// TestStreamingStaysWithinMemory reads and exports far more than it may hold. PERDURE_BENCH_BLOBS sets how many MiB.
func TestStreamingStaysWithinMemory(t *testing.T) {
	const limit = 64
	path, id := blobFile(t, sized("PERDURE_BENCH_BLOBS", 96))
	t.Run("export", func(t *testing.T) {
		s := keep(t, path)
		h := newHeap()
		for _, form := range forms {
			out := filepath.Join(filepath.Dir(path), form.String())
			f := must(os.Create(out))
			w := bufio.NewWriterSize(&looking{f, h}, 1<<20)
			if _, err := Export(t.Context(), w, s, id, Options{Form: form}); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if h.above() > limit {
			t.Errorf("%.1f MiB more in use while exporting, want at most %d", h.above(), limit)
		}
		t.Logf("exporting: %.1f MiB above the base", h.above())
	})
	for _, form := range forms {
		t.Run("read "+form.String(), func(t *testing.T) {
			f := must(os.Open(filepath.Join(filepath.Dir(path), form.String())))
			defer f.Close()
			h := newHeap()
			r := must(NewReader(f, ReadOptions{}))
			for _, err := range r.Entries() {
				if err != nil {
					t.Fatal(err)
				}
				h.look()
			}
			if h.above() > limit {
				t.Errorf("%.1f MiB more in use while reading, want at most %d", h.above(), limit)
			}
			t.Logf("reading: %.1f MiB above the base", h.above())
		})
	}
}

// TestManyEntriesStayWithinMemory reads more entries than are held. PERDURE_BENCH_ENTRIES sets how many.
func TestManyEntriesStayWithinMemory(t *testing.T) {
	const limit = 64
	path := filepath.Join(t.TempDir(), "long.agent")
	func() { // the store is garbage afterwards
		s, id := long(t, sized("PERDURE_BENCH_ENTRIES", 10_000), 1000)
		if err := os.WriteFile(path, exported(t, s, id, Options{}), 0o644); err != nil {
			t.Fatal(err)
		}
	}()
	f := must(os.Open(path))
	defer f.Close()
	h := newHeap()
	r := must(NewReader(f, ReadOptions{}))
	n := 0
	for _, err := range r.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%64 == 0 {
			h.look()
		}
	}
	if h.above() > limit {
		t.Errorf("%.1f MiB more in use while reading %d entries, want at most %d", h.above(), n, limit)
	}
	t.Logf("reading %d entries: %.1f MiB above a base of %.1f MiB", n, h.above(), float64(h.base)/(1<<20))
}

// looking looks at the memory at every write.
type looking struct {
	io.Writer
	h *heap
}

func (l *looking) Write(p []byte) (int, error) {
	l.h.look()
	return l.Writer.Write(p)
}
