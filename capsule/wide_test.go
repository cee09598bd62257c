package capsule

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"iter"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// seeking is a store that counts how often it is read from a cursor on, and how many entries come of it.
type seeking struct {
	perdure.Store
	seeks, items int
}

func (s *seeking) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.seeks++
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.Store.Entries(ctx, id, after) {
			if s.items++; !yield(item, err) {
				return
			}
		}
	}
}

// TestAWideMemoryIsExportedInAFewPasses: heads side by side arrive in any order and are written in that of their
// hashes. A seek for each would cost a page of the store for every entry.
func TestAWideMemoryIsExportedInAFewPasses(t *testing.T) {
	const heads = 2000
	w := newAuthor()
	g, a := w.genesis("wide")
	s := &seeking{Store: new(perdure.MemStore)}
	all := []*perdure.Entry{g}
	for range heads {
		es, _ := w.commit(a, perdure.Event{Name: "tick"})
		all = append(all, es...)
	}
	if err := s.Put(t.Context(), g.ID(), all...); err != nil {
		t.Fatal(err)
	}
	x, err := Export(t.Context(), io.Discard, s, g.ID(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if x.Entries != heads+1 || s.seeks > 4 || s.items > 3*heads {
		t.Errorf("%d entries took %d seeks and %d entries read, want at most 4 and %d", x.Entries, s.seeks, s.items,
			3*heads)
	}
}

// TestAnIndexIsAsLongAsItsEntriesAllow: in every form, and no longer.
func TestAnIndexIsAsLongAsItsEntriesAllow(t *testing.T) {
	const heads = 70_000 // what names them is longer than any other frame
	x := Index{Entries: heads, Heads: make([]perdure.Hash, heads)}
	for i := range x.Heads {
		x.Heads[i] = perdure.HashOf(binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	rec := must(indexCodec.Append(nil, &x))
	store, id := simple(t, 3)
	for _, form := range []Form{Binary, Described, Text} {
		all, r, err := read(exported(t, store, id, Options{Form: form}), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := counted(r.dec); got != int64(len(all)) {
			t.Errorf("%s: %d entries were counted, want %d", form, got, len(all))
		}
		enc := must(encoderOf(form))
		file := must(enc.record(nil, frameIndex, rec))
		decode := func(entries int64) (*frame, error) {
			src, sum := newSource(bytes.NewReader(file), DefaultMaxBytes), &digest{h: noHash{}}
			lim := new(Reader).limits()
			var dec decoder = &binaryDecoder{source: src, sum: sum, entries: entries}
			switch form {
			case Described:
				dec = &describedDecoder{Reader: canon.NewReader(src, lim), sum: sum, lim: lim, entries: entries}
			case Text:
				dec = &textDecoder{source: src, sum: sum, lim: lim, entries: entries}
			case Binary:
			}
			return dec.next()
		}
		f, err := decode(heads)
		if err != nil || !bytes.Equal(f.record, rec) {
			t.Errorf("%s: the index of %d heads is not read: %v", form, heads, err)
		}
		_, err = decode(10)
		refused(t, form.String()+": an index longer than its entries", err, PredFrame, canon.PredBytes)
	}
}

// counted is how many entries a decoder has seen.
func counted(d decoder) int64 {
	switch d := d.(type) {
	case *binaryDecoder:
		return d.entries
	case *describedDecoder:
		return d.entries
	case *textDecoder:
		return d.entries
	}
	return 0
}
