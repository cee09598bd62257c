package capsule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// decoderAt reads frames of the file from an offset on.
func (l *Log) decoderAt(at int64) decoder {
	sum := &digest{h: noHash{}}
	src := newSource(io.NewSectionReader(l.f, at, math.MaxInt64-at), math.MaxInt64)
	src.off = at
	lim, entries := perdure.Limits{Bytes: maxLine}, int64(l.len()) // of the whole file: enough for its index
	switch l.form {
	case Text:
		return &textDecoder{source: src, sum: sum, lim: lim, loose: true, entries: entries}
	case Described:
		return &describedDecoder{Reader: canon.NewReader(src, lim), sum: sum, lim: lim, base: at,
			entries: entries}
	case Binary:
	}
	return &binaryDecoder{source: src, sum: sum, entries: entries}
}

// begin reads the head of the file.
func (l *Log) begin() (decoder, error) {
	r := new(Reader)
	start := make([]byte, 64)
	n, err := l.f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.HasPrefix(start[:n], []byte(ageMagic)) || bytes.HasPrefix(start[:n], []byte(ageArmour[:10])) {
		return nil, reject(PredRecipient, 0, "$", "an encrypted capsule",
			"one that can be appended to; import it into a store")
	}
	if err := r.detect(start[:n]); err != nil {
		return nil, err
	}
	l.form = r.form
	whole := make([]byte, 4<<10)
	n, _ = l.f.ReadAt(whole, 0)
	if v := announced(l.form, whole[:n]); v > Version {
		return nil, reject(PredVersion, 0, "$.version", fmt.Sprint(v), fmt.Sprint(Version))
	}
	dec := l.decoderAt(0)
	f, err := dec.next()
	if err == io.EOF || err == nil && f.letter != frameHead {
		err = reject(PredMagic, 0, "$", "another frame", "a head")
	}
	if err != nil {
		return nil, err
	}
	l.head = Head{}
	if err := headCodec.Decode(f.record, &l.head, canon.Limits{}); err != nil {
		return nil, moved(err, f.base)
	}
	h := &l.head
	switch {
	case h.Magic != Magic || h.Version != Version || h.Unicode != canon.UnicodeVersion:
		return nil, reject(PredMagic, 0, "$", "another head", "that of a capsule of version "+fmt.Sprint(Version))
	case h.Shared:
		return nil, reject(PredChunk, 0, "$.shared", "a capsule whose chunks are kept in its set",
			"all of it in one file; import it into a store")
	}
	return dec, nil
}

// scan reads the frames after what is known to be whole.
func (l *Log) scan() error {
	dec := l.decoderAt(l.whole)
	if l.whole == 0 {
		var err error
		if dec, err = l.begin(); err != nil {
			return err
		}
		if !l.head.grows() {
			if l.looks && l.head.Binding == Inline && l.resumeExported() {
				return nil
			}
			return l.convert()
		}
		l.whole = dec.offset()
		if l.resume(); l.kept.count > 0 {
			dec = l.decoderAt(l.whole)
		}
	}
	s := scanner{l: l, dec: dec}
	l.scanning, l.wrong = true, false
	err := s.run()
	if l.scanning = false; l.wrong {
		return l.distrust()
	}
	if t, ok := dec.(*textDecoder); ok {
		l.messy = l.messy || t.messy
	}
	return err
}

// noHash is for files that nobody wants the hash of.
type noHash struct{}

func (noHash) Write(p []byte) (int, error) { return len(p), nil }
func (noHash) Sum(b []byte) []byte         { return b }
func (noHash) Reset()                      {}
func (noHash) Size() int                   { return 0 }
func (noHash) BlockSize() int              { return 1 }

// scanner finds the entries of a file.
type scanner struct {
	l     *Log
	dec   decoder
	batch []found           // not there without what follows
	held  map[short][]found // those that wait for a parent, by its name: a merge may change the order
	empty int64             // where the zeros begin that the file ends with

	exported bool // it ends with a manifest
}

// found is an entry and its row.
type found struct {
	row
	*perdure.Entry
}

func (s *scanner) run() error {
	s.l.torn = false
	var err error
	if s.empty, err = s.l.zeros(); err != nil {
		return err
	}
	for {
		f, err := s.dec.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			if s.torn(err) {
				s.l.torn = true
				break
			}
			return err
		}
		switch f.letter {
		case frameEntry:
			err = s.entry(f)
		case frameIndex, frameHead, frameSchema:
			if f.letter == frameHead && s.l.form != Text {
				err = reject(PredOrder, f.at, "$", "a head", "entries")
			}
		case frameManifest, frameChunk:
			if s.exported && f.letter == frameManifest {
				return s.unlinked()
			}
			err = reject(PredOrder, f.at, "$", "another frame", "an entry")
		}
		if err != nil {
			if s.torn(err) {
				s.l.torn = true
				break
			}
			return err
		}
	}
	s.l.torn = s.l.torn || len(s.batch) > 0
	return s.unlinked()
}

// unlinked refuses a file in which an entry still waits for a parent: the first of them.
func (s *scanner) unlinked() error {
	var first *found
	for _, held := range s.held {
		for i := range held {
			if first == nil || held[i].at < first.at {
				first = &held[i]
			}
		}
	}
	if first == nil {
		return nil
	}
	parent, _ := s.l.lacks(first.Entry)
	return moved(first.Entry.Unlinked(parent), first.at)
}

// begins reports whether an entry is the first, or may be.
func (l *Log) begins(e *perdure.Entry) bool {
	if l.len() == 0 {
		return true
	}
	r, err := l.row(0)
	return err == nil && r.name == e.Name
}

// lacks is a parent of an entry that is not there.
func (l *Log) lacks(e *perdure.Entry) (parent perdure.Hash, lacking bool) {
	for _, p := range e.Parents {
		if _, ok, err := l.find(p); (err != nil || !ok) && !(l.head.before(p) && l.begins(e)) {
			return p, true
		}
	}
	return parent, false
}

// torn reports whether an error is what a crash in the middle of a write leaves: the file ends too early, or in zeros.
func (s *scanner) torn(err error) bool {
	var r *perdure.Rejection
	if !errors.As(err, &r) {
		return false
	}
	if r.Predicate == PredComplete {
		return true
	}
	return s.empty <= s.dec.offset()+16 // a head that was not taken yet
}

// zeros is where the zeros begin that the file ends with. A file system that lost power may have made a file longer
// before it wrote what belongs there.
func (l *Log) zeros() (int64, error) {
	info, err := l.f.Stat()
	if err != nil {
		return 0, err
	}
	b := make([]byte, bufferSize)
	at := info.Size()
	for at > l.whole {
		n := min(int64(len(b)), at-l.whole)
		if _, err := l.f.ReadAt(b[:n], at-n); err != nil {
			return 0, err
		}
		rest := len(bytes.TrimRight(b[:n], "\x00"))
		if at -= n - int64(rest); rest > 0 {
			break
		}
	}
	if at == info.Size() {
		at = math.MaxInt64 - 16 // none
	}
	return at, nil
}

// entry takes in one entry and the chunks after it.
func (s *scanner) entry(f *frame) error {
	e := f.entry
	if e == nil {
		var err error
		if e, err = perdure.NewEntry(f.header, nil, f.signature, perdure.Limits{}); err != nil {
			return moved(err, f.base)
		}
	}
	if s.dec.offset() > s.empty && f.body != nil && perdure.HashOf(f.body) != e.Body {
		return reject(PredComplete, s.empty, "$", "zeros to the end of the file", "the rest of a body")
	}
	bare := f.body == nil && len(f.payload.Chunks) == 0
	e = e.Drop() // bodies are read when they are asked for
	for range f.payload.Chunks {
		k, err := s.dec.next()
		if err == io.EOF {
			err = reject(PredComplete, s.dec.offset(), "$", "the end of the file inside a body", "its chunks")
		}
		if err == nil && k.letter != frameChunk {
			err = reject(PredChunk, k.at, "$", "another frame", "the chunks of the body before it")
		}
		if err != nil {
			return err
		}
	}
	if e.ID() != s.l.head.Agent {
		return moved(e.Foreign(s.l.head.Agent), f.at)
	}
	s.l.scanned++
	s.batch = append(s.batch, found{row{e.Name, f.at, s.dec.offset(), e.Due, int32(len(f.payload.Chunks)), bare,
		e.Kind == perdure.KindEvent}, e})
	if f.payload.More {
		return nil
	}
	for _, x := range s.batch {
		s.arrive(x)
	}
	s.batch, s.l.whole = s.batch[:0], s.dec.offset()
	return nil
}

// arrive adds an entry whose parents are there, and those that waited for it. Each entry is looked at once for each
// parent it waits for, however the file is ordered: a file turned upside down by a stranger costs no more than another.
func (s *scanner) arrive(x found) {
	l := s.l
	for todo := []found{x}; len(todo) > 0; {
		x, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if i, dup := l.there(x.Entry); dup {
			// it was pruned in one of the copies: that is meant for all
			if l.messy = true; x.bare && l.absorb() == nil && !l.rows[i].bare {
				l.rows[i] = x.row
				l.bare++
			}
			continue
		}
		if p, lacking := l.lacks(x.Entry); lacking {
			if l.messy = true; s.held == nil {
				s.held = map[short][]found{}
			}
			s.held[short(p[:16])] = append(s.held[short(p[:16])], x)
			continue
		}
		l.add(x.row, x.Entry)
		name := short(x.name[:16])
		todo = append(todo, s.held[name]...)
		delete(s.held, name)
	}
}

// there is where an entry is, if it is there.
func (l *Log) there(e *perdure.Entry) (int, bool) {
	if i, ok := l.near(e.Name); ok || l.onTop(e) {
		return i, ok
	}
	i, ok, err := l.find(e.Name)
	return i, ok && err == nil
}

// add puts an entry at the end of the index.
func (l *Log) add(r row, e *perdure.Entry) {
	l.at[short(r.name[:16])] = int32(l.len())
	l.rows = append(l.rows, r)
	if r.bare {
		l.bare++
	}
	if e.Kind == perdure.KindSnapshot && (l.heads.len() == 0 || l.heads.are(e.Parents)) {
		l.snaps = append(l.snaps, perdure.Cursor(l.len()))
	}
	l.heads.add(r.name, e.Parents)
}

// Read returns entries after a cursor: at most n of them, and no more once they are some megabytes.
func (l *Log) Read(after perdure.Cursor, n int) ([]perdure.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []perdure.Item
	var size int64
	var dec decoder
	var at int64
	for i := int(max(after, 0)); i < l.len() && len(out) < n && size < batchBytes; i++ {
		r, err := l.row(i)
		if err != nil {
			if err = l.distrust(); err == nil {
				r, err = l.row(i)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", l.path, err)
		}
		if dec == nil || at != r.at {
			dec = l.decoderAt(r.at)
		}
		e, err := l.read(dec, r)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", l.path, err)
		}
		at, size = r.end, size+e.Size
		out = append(out, perdure.Item{Entry: e, Cursor: perdure.Cursor(i + 1)})
	}
	return out, nil
}

// Names returns the names of the entries after a cursor, at most n of them. Their bodies are not read.
func (l *Log) Names(after perdure.Cursor, n int) ([]perdure.Hash, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []perdure.Hash
	for i := int(max(after, 0)); i < l.len() && len(out) < n; i++ {
		r, err := l.row(i)
		if err != nil {
			if err = l.distrust(); err == nil {
				r, err = l.row(i)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", l.path, err)
		}
		out = append(out, r.name)
	}
	return out, nil
}

// Find is where an entry stands; false: it is not there.
func (l *Log) Find(name perdure.Hash) (perdure.Cursor, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found, err := l.find(name)
	if err != nil {
		return 0, false, fmt.Errorf("read %s: %w", l.path, err)
	}
	return perdure.Cursor(i + 1), found, nil
}

// read reads the entry of a row with a decoder that stands before it.
func (l *Log) read(dec decoder, r row) (*perdure.Entry, error) {
	f, err := dec.next()
	if err == nil && f.letter != frameEntry {
		err = reject(PredOrder, r.at, "$", "another frame", "an entry")
	}
	if err != nil {
		return nil, err
	}
	e, err := assemble(f, perdure.Limits{}, func(ref chunkRef) ([]byte, error) {
		k, err := dec.next()
		if err != nil {
			return nil, err
		}
		if k.letter != frameChunk {
			return nil, reject(PredChunk, k.at, "$", "another frame", "chunk "+ref.Name.Short())
		}
		return ref.unpacked(k.record, k.base)
	})
	if err == nil && e.Name != r.name {
		err = of(reject(PredOrder, r.at, "$", "another entry", r.name.Short()), e)
	}
	return e, err
}
