package capsule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Add durably appends the entries that are not there, all or none, and returns how many those are. An entry whose
// parents are not there is refused (entry.linked). The Log is locked.
func (l *Log) Add(entries ...*perdure.Entry) (int, error) {
	fresh, err := l.missing(entries)
	if err != nil || len(fresh) == 0 {
		return 0, err
	}
	var b bytes.Buffer
	w, err := newLogWriter(&b, l.form)
	if err != nil {
		return 0, err
	}
	var rows []row
	for i, e := range fresh {
		at, chunks := l.whole+w.index.Length+int64(len(w.buf)), w.index.Chunks
		if err := w.entry(e, i+1 < len(fresh)); err != nil {
			return 0, err
		}
		rows = append(rows, row{e.Name, at, l.whole + w.index.Length + int64(len(w.buf)), e.Due,
			int32(w.index.Chunks - chunks), e.BodyBytes() == nil, e.Kind == perdure.KindEvent})
	}
	if err := w.flush(true); err != nil {
		return 0, err
	}
	if err := l.write(b.Bytes()); err != nil {
		return 0, fmt.Errorf("append to %s: %w", l.path, err)
	}
	for i, e := range fresh {
		l.add(rows[i], e)
	}
	l.whole += int64(b.Len())
	return len(fresh), nil
}

// AddAll is Add of a sequence of any length: a new file with the entries takes the place of the old one once it is
// durable.
func (l *Log) AddAll(entries iter.Seq2[*perdure.Entry, error]) error {
	return l.replace(func(w *writer) error {
		if err := l.copyTo(w, nil); err != nil {
			return err
		}
		return l.fill(w, entries)
	})
}

// Replace puts a memory of a depth in the place of the one that is there. The Log is locked.
func (l *Log) Replace(d Depth, entries iter.Seq2[*perdure.Entry, error]) error {
	first, err := firstOf(entries)
	if err != nil {
		return err
	}
	head, err := headAt(l.head.Agent, d, first)
	if err != nil {
		return err
	}
	next := &Log{head: head, form: l.form}
	return l.replaceBy(next, func(w *writer) error { return next.fill(w, entries) })
}

// fill writes the entries of a sequence that are not there. One that cannot be linked is refused.
func (l *Log) fill(w *writer, entries iter.Seq2[*perdure.Entry, error]) error {
	added := map[short]bool{}
	has := func(name perdure.Hash) bool { return l.Has(name) || added[short(name[:16])] }
	for e, err := range entries {
		if err != nil {
			return err
		}
		if e.ID() != l.head.Agent {
			return e.Foreign(l.head.Agent)
		}
		if has(e.Name) {
			continue
		}
		for _, p := range e.Parents {
			if !has(p) && !(l.head.before(p) && len(added) == 0 && l.len() == 0) {
				return e.Unlinked(p)
			}
		}
		if err := w.entry(e, false); err != nil {
			return err
		}
		added[short(e.Name[:16])] = true
	}
	return nil
}

// missing are the entries that are not there, if all can be linked.
func (l *Log) missing(entries []*perdure.Entry) ([]*perdure.Entry, error) {
	var fresh []*perdure.Entry
	added := map[short]bool{}
	for _, e := range entries {
		if e.ID() != l.head.Agent {
			return nil, e.Foreign(l.head.Agent)
		}
		if added[short(e.Name[:16])] {
			continue
		}
		if !l.onTop(e) && !slices.ContainsFunc(e.Parents, func(p perdure.Hash) bool { return added[short(p[:16])] }) {
			if _, held, err := l.find(e.Name); err != nil {
				return nil, err
			} else if held {
				continue
			}
		}
		for _, p := range e.Parents {
			if added[short(p[:16])] {
				continue
			}
			if _, held, err := l.find(p); err != nil {
				return nil, err
			} else if !held {
				return nil, e.Unlinked(p)
			}
		}
		added[short(e.Name[:16])] = true
		fresh = append(fresh, e)
	}
	return fresh, nil
}

// write puts bytes durably behind what is whole. After an error nobody knows what is in the file: it is read again
// before the next use.
func (l *Log) write(b []byte) error {
	_, err := l.f.WriteAt(b, l.whole)
	if err == nil {
		err = l.f.Sync()
	}
	// whoever put the file there may not have been able to, and a power cut brings back the one before it
	if err == nil && !l.named {
		err = disk.Sync(filepath.Dir(l.path))
		l.named = err == nil
	}
	if err != nil {
		l.fault = err
		_ = l.f.Truncate(l.whole) // what of it is there was never acknowledged
		return err
	}
	return nil
}

// Has reports whether an entry is there. The Log is locked.
func (l *Log) Has(name perdure.Hash) bool {
	_, ok, err := l.find(name)
	return err == nil && ok
}

// LockedHeads is Heads for a Log that is locked.
func (l *Log) LockedHeads() []perdure.Hash { return slices.Clone(l.heads.all()) }

// Prune durably adds the entries that are not there, and drops the bodies of those that are named: all of it, if heads
// are the heads, else nothing, with an error wrapping perdure.ErrConflict. It returns how many bytes of bodies went,
// and an error wrapping perdure.ErrNotFound if an entry that is named is not there. The Log is locked.
func (l *Log) Prune(heads, names []perdure.Hash, entries ...*perdure.Entry) (gone int64, err error) {
	if !l.on(heads) {
		return 0, perdure.ErrConflict
	}
	if err := l.absorb(); err != nil {
		return 0, err
	}
	drop := map[int]bool{}
	for _, name := range names {
		i, ok, err := l.find(name)
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, fmt.Errorf("entry %s: %w", name.Short(), perdure.ErrNotFound)
		}
		r, err := l.row(i)
		if err != nil {
			return 0, err
		}
		if !r.bare {
			drop[i] = true
		}
	}
	if len(drop) == 0 {
		_, err := l.Add(entries...)
		return 0, err
	}
	err = l.replace(func(w *writer) error {
		err := l.copyTo(w, func(i int, e *perdure.Entry) *perdure.Entry {
			if !drop[i] {
				return e
			}
			gone += int64(len(e.BodyBytes()))
			return e.Drop()
		})
		if err != nil {
			return err
		}
		return l.fill(w, each(entries))
	})
	if err != nil {
		return 0, err
	}
	return gone, nil
}

// on reports whether these are the heads, in any order.
func (l *Log) on(heads []perdure.Hash) bool {
	return slices.Equal(l.heads.all(), slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare))
}

// each yields entries.
func each(entries []*perdure.Entry) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// rewrite puts a new file in the place of the old one, with the same entries in the same order. The Log is locked, and
// stays so.
func (l *Log) rewrite() error {
	return l.replace(func(w *writer) error { return l.copyTo(w, nil) })
}

// copyTo writes the entries that are there, each changed as asked.
func (l *Log) copyTo(w *writer, change func(i int, e *perdure.Entry) *perdure.Entry) error {
	var dec decoder
	var at int64
	if err := l.absorb(); err != nil {
		return err
	}
	for i, r := range l.rows {
		if dec == nil || at != r.at {
			dec = l.decoderAt(r.at)
		}
		e, err := l.read(dec, r)
		if err != nil {
			return err
		}
		if at = r.end; change != nil {
			e = change(i, e)
		}
		if err := w.entry(e, false); err != nil {
			return err
		}
	}
	return nil
}

// writeStore writes the file of a store.
func (l *Log) writeStore(out disk.File, entries func(*writer) error) error {
	w, err := newLogWriter(out, l.form)
	if err != nil {
		return err
	}
	head := newHead(l.head.Agent, 0)
	head.Depth, head.Anchor = l.head.Holds(), l.head.Anchor
	if err := w.head(&head); err != nil {
		return err
	}
	if err := entries(w); err != nil {
		return err
	}
	return w.flush(true)
}

// replace puts a new file in the place of the old one. The Log is locked and stays so: the new file is locked before it
// has its name.
func (l *Log) replace(fill func(*writer) error) error { return l.replaceBy(l, fill) }

// replaceBy is replace, with the head that another Log would write.
func (l *Log) replaceBy(by *Log, fill func(*writer) error) error {
	f, err := replaceFile(l.path, func(out disk.File) error {
		if err := disk.Lock(out, true); err != nil {
			return err
		}
		return by.writeStore(out, fill)
	})
	if err != nil {
		var not unnamed
		l.doubted = l.doubted || errors.As(err, &not)
		return fmt.Errorf("rewrite %s: %w", l.path, err)
	}
	l.doubted = false
	_ = l.close() // the old file has no name any more
	l.begun(f)
	l.locked, l.named = true, true
	return l.scan()
}

// exported yields the entries of an exported capsule from its beginning.
func (l *Log) exported() iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		if _, err := l.f.Seek(0, io.SeekStart); err != nil {
			yield(nil, err)
			return
		}
		var o ReadOptions
		if l.head.Binding == Detached {
			beside, err := SignaturesOf(l.path, os.Open, o)
			if err != nil {
				yield(nil, reject(PredBinding, 0, "$.binding", "detached signatures",
					"the file of signatures beside it, "+SigExt))
				return
			}
			defer func() { _ = beside.Close() }() // it was only read
			o.Signatures = beside
		}
		r, err := NewReader(l.f, o)
		if err != nil {
			yield(nil, err)
			return
		}
		r.Entries()(yield)
	}
}

// good is how many entries of an exported capsule are to be kept: of one that was cut short, the beginning that
// signatures cover.
func (l *Log) good() (n int, err error) {
	sealed := 0
	open := newLineage(&l.head)
	for e, err := range l.exported() {
		var cut *perdure.Rejection
		if errors.As(err, &cut) && cut.Predicate == PredComplete && sealed > 0 {
			l.cut = true
			break
		}
		if err != nil {
			return 0, err
		}
		n++
		if open.seal(e); len(open.open) == 0 {
			sealed = n
		}
	}
	return sealed, nil
}

// convert makes an exported capsule the file of a store. One whose end is missing is kept as it was, beside it.
func (l *Log) convert() error {
	if l.looks {
		return l.convertCopy()
	}
	mine := l.locked
	if !mine {
		if err := disk.Lock(l.f, true); err != nil {
			return err
		}
		if same, err := l.same(); err != nil {
			return err
		} else if !same { // another process was first
			return l.reopen()
		}
		l.locked = true
	}
	left, err := l.good()
	if err != nil {
		return err
	}
	if l.cut {
		aside := l.path + DamagedMark + time.Now().UTC().Format(damagedTime)
		if err := keepAside(l.path, aside); err != nil {
			return err
		}
		l.aside = aside
	}
	detached := l.head.Binding == Detached
	err = l.replace(func(w *writer) error { return l.copyFirst(w, left) })
	if err == nil && detached { // the signatures are in the file now
		err = disk.Remove(l.path + SigExt)
	}
	if err == nil && !mine {
		l.locked = false
		err = disk.Unlock(l.f)
	}
	return err
}

// copyFirst writes the first entries of an exported capsule.
func (l *Log) copyFirst(w *writer, left int) error {
	for e, err := range l.exported() {
		if err == nil {
			err = w.entry(e, false)
		}
		if err != nil {
			return err
		}
		if left--; left == 0 {
			break
		}
	}
	return nil
}

// convertCopy is convert for who only looks: a temporary file gets the form of a store, and is gone when the Log is
// closed.
func (l *Log) convertCopy() error {
	source, err := l.f.Stat()
	if err != nil {
		return err
	}
	left, err := l.good()
	if err != nil {
		return err
	}
	f, err := disk.CreateTemp(os.TempDir(), ".perdure-look-*.tmp")
	if err != nil {
		return err
	}
	_ = disk.Remove(f.Name()) // where an open file can have no name; else Close removes it
	if err := l.writeStore(f, func(w *writer) error { return l.copyFirst(w, left) }); err != nil {
		_ = f.Close()
		_ = disk.Remove(f.Name())
		return err
	}
	if l.head.Binding == Inline {
		l.keepExported(source)
	}
	_ = l.f.Close() // it was only read
	l.begun(f)
	l.source, l.copied = source, true
	return l.scan()
}
