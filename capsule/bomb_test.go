package capsule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"filippo.io/age"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// bomb is a capsule of n bodies of 16 MiB that are the same few chunks over and over: some 80 KB for 16 MiB.
func bomb(t testing.TB, n int, o Options) []byte {
	t.Helper()
	w := newAuthor()
	g, a := w.genesis("bomb")
	all := []*perdure.Entry{g}
	for i := range n {
		more, next := w.commit(a, perdure.Event{Name: fmt.Sprint(i), Data: must(perdure.DataOf(make([]byte, 16<<20)))})
		all, a = append(all, more...), next
	}
	s, id := put(t, all...)
	var b bytes.Buffer
	if _, err := Export(t.Context(), &b, s, id, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// weighed counts the bytes of bodies that reach a store.
type weighed struct {
	*perdure.MemStore
	bytes int64
}

func (w *weighed) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	for _, e := range entries {
		w.bytes += int64(len(e.BodyBytes()))
	}
	return w.MemStore.Put(ctx, id, entries...)
}

func (w *weighed) PutAll(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	return w.MemStore.PutAll(ctx, id, func(yield func(*perdure.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				w.bytes += int64(len(e.BodyBytes()))
			}
			if !yield(e, err) {
				return
			}
		}
	})
}

func refusedBy(t *testing.T, err error, predicate string) {
	t.Helper()
	var r *perdure.Rejection
	if !errors.As(err, &r) || r.Predicate != predicate {
		t.Errorf("got %v, want a refusal by %s", err, predicate)
	}
}

// TestBombIsRefusedBeforeItUnpacks builds 192 MiB out of a megabyte and holds it to every door that takes a file.
func TestBombIsRefusedBeforeItUnpacks(t *testing.T) {
	for _, form := range []Form{Binary, Text} {
		b := bomb(t, 12, Options{Form: form})
		if len(b) > 2<<20 {
			t.Fatalf("%v: the bomb has %d bytes: it shows nothing", form, len(b))
		}
		s := &weighed{MemStore: new(perdure.MemStore)}
		_, err := Import(t.Context(), s, bytes.NewReader(b), ImportOptions{Anyone: true})
		refusedBy(t, err, PredUnpacked)
		if s.bytes != 0 {
			t.Errorf("%v: %d bytes were written", form, s.bytes)
		}
		r := must(NewReader(bytes.NewReader(b), ReadOptions{}))
		var unpacked int64
		for e, err := range r.Entries() {
			if err != nil {
				refusedBy(t, err, PredUnpacked)
				break
			}
			unpacked += int64(len(e.BodyBytes()))
		}
		if most := int64(DefaultUnpacked + DefaultRatio*len(b)); unpacked > most {
			t.Errorf("%v: %d bytes were unpacked before it was refused, want at most %d", form, unpacked, most)
		}
		if form == Text {
			continue
		}
		if _, err := Import(t.Context(), s, bytes.NewReader(b),
			ImportOptions{Anyone: true, ReadOptions: ReadOptions{MaxBytes: 1 << 28}}); err != nil {
			t.Errorf("%v: with a limit that somebody set: %v", form, err)
		}
		if s.bytes < 192<<20 {
			t.Errorf("%v: it unpacked to %d bytes: it is no bomb", form, s.bytes)
		}
	}
}

// TestBombAsAStoreIsLeftAsItIs drops a bomb where a store picks files up: nothing larger than the file is on disk
// afterwards.
func TestBombAsAStoreIsLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	b := bomb(t, 12, Options{})
	path := filepath.Join(dir, "bomb.agent")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenLog(path)
	refusedBy(t, err, PredUnpacked)
	_, err = OpenStore(path)
	refusedBy(t, err, PredUnpacked)
	var disk int64
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, serr := d.Info()
			disk, err = disk+info.Size(), serr
		}
		return err
	})
	if err != nil || disk != int64(len(b)) {
		t.Errorf("got %d bytes on disk (%v), want the %d of the file", disk, err, len(b))
	}
}

func TestEncryptedBombIsRefused(t *testing.T) {
	id := must(age.GenerateX25519Identity())
	b := bomb(t, 12, Options{Recipients: []age.Recipient{id.Recipient()}})
	_, err := Import(t.Context(), new(perdure.MemStore), bytes.NewReader(b),
		ImportOptions{Anyone: true, ReadOptions: ReadOptions{Identities: []age.Identity{id}}})
	refusedBy(t, err, PredUnpacked)
}

// TestSetUnpacksToOneLimit imports capsules that each pass and share their chunks: together they do not.
func TestSetUnpacksToOneLimit(t *testing.T) {
	set := must(OpenSet(t.TempDir()))
	t.Cleanup(func() { _ = set.Close() })
	from := new(perdure.MemStore)
	var ids []perdure.AgentID
	for i := range 4 {
		w := newAuthor()
		g, a := w.genesis(fmt.Sprint("part", i))
		all := []*perdure.Entry{g}
		for k := range 3 {
			more, next := w.commit(a, perdure.Event{Name: fmt.Sprint(k),
				Data: must(perdure.DataOf(make([]byte, 16<<20)))})
			all, a = append(all, more...), next
		}
		if err := from.Put(t.Context(), a.ID(), all...); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID())
	}
	names := must(set.Export(t.Context(), from, SetOptions{}, ids...))
	to := &weighed{MemStore: new(perdure.MemStore)}
	var refused int
	for _, name := range names {
		if _, err := set.Import(t.Context(), to, name, ImportOptions{Anyone: true}); err != nil {
			refusedBy(t, err, PredUnpacked)
			refused++
		}
	}
	if refused == 0 || refused == len(names) {
		t.Errorf("%d of %d were refused, want some", refused, len(names))
	}
	if to.bytes > 150<<20 {
		t.Errorf("%d bytes were written", to.bytes)
	}
	if c, err := set.Collect(t.Context(), true); err != nil || c.Chunks != 0 {
		t.Errorf("collecting the same set: %v, %v", c, err)
	}
}

// TestWhatAgentsWriteUnpacks keeps honest capsules on the good side of the default limits: one body as large as may be,
// packed as well as may be.
func TestWhatAgentsWriteUnpacks(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("large")
	more, _ := w.commit(a, perdure.Event{Name: "large", Data: must(perdure.DataOf(make([]byte, perdure.MaxBody-1024)))})
	s, id := put(t, append([]*perdure.Entry{g}, more...)...)
	var b bytes.Buffer
	if _, err := Export(t.Context(), &b, s, id, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), new(perdure.MemStore), bytes.NewReader(b.Bytes()),
		ImportOptions{Anyone: true}); err != nil {
		t.Error(err)
	}
}

// The description that a capsule brings is looked at before any signature is.
func TestSchemaOfAStrangerCostsLittle(t *testing.T) {
	s, id := simple(t, 3)
	r, err := NewReader(bytes.NewReader(exported(t, s, id, Options{Schema: true})), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	typ := &canon.Type{Kind: canon.Record, Schema: &canon.Schema{Name: "x"}}
	for range 8000 {
		typ = &canon.Type{Kind: canon.Record, Schema: &canon.Schema{Name: "x", Fields: []canon.Field{{ID: 1,
			Name: "aaaaaaaaaaaaaaaaaaaaa", Type: typ}}}}
	}
	h, schema := r.head, canon.AppendSchema(nil, typ)
	h.Schema = perdure.HashOf(schema)
	head, err := headCodec.Append(nil, &h)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := schemaCodec.Append(nil, &schemaRecord{Entry: schema})
	if err != nil {
		t.Fatal(err)
	}
	file := canon.AppendBytes(canon.AppendText(canon.AppendArray(nil, 2), "H"), head)
	file = canon.AppendBytes(canon.AppendText(canon.AppendArray(file, 2), "S"), rec)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = NewReader(bytes.NewReader(file), ReadOptions{})
	runtime.ReadMemStats(&after)
	var rejected *perdure.Rejection
	if !errors.As(err, &rejected) || rejected.Predicate != PredSchema {
		t.Errorf("got %v, want a refusal of %s", err, PredSchema)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 20*uint64(len(file)) {
		t.Errorf("%d KiB were allocated for a capsule of %d KiB", got>>10, len(file)>>10)
	}
}
