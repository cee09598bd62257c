package dir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/entropy"
)

// arrivals is the order in which entries were first seen in the files of a folder: a file of records of one size that
// all processes share and only append to, under a lock of its own. It is derived, but its order is not in the files: if
// it is lost, another feed begins.
//
// The first record has the id of the feed. A position is the number of a record.
type arrivals struct {
	path  string
	f     disk.File
	id    perdure.Hash
	n     int64                    // records read
	last  int64                    // of which this is the last that is an arrival
	marks map[perdure.AgentID]mark // how far each agent has been read
}

// mark is how far the file of an agent has been read: up to an entry, when it had a size and a time.
type mark struct {
	at        perdure.Cursor
	name      perdure.Hash
	size, mod int64
}

// is reports whether a file is as it was then.
func (m mark) is(info fs.FileInfo) bool {
	return m.at > 0 && m.size == info.Size() && m.mod == info.ModTime().UnixNano()
}

// record is one record. Do NOT reorder the kinds.
type record struct {
	kind  byte
	agent perdure.AgentID
	mark
}

const (
	recordBegins byte = iota + 1 // the first: name is the id of the feed
	recordEntry                  // an entry arrived
	recordMark                   // the file of the agent was read up to here, and nothing is new
	recordGone                   // the agent is gone, or was written anew: what comes back arrives again
)

const (
	arrivalsName = "arrivals"
	recordSize   = 96
)

func (r *record) append(b []byte) []byte {
	from := len(b)
	b = append(b, 'p', 'f', '1', r.kind, 0, 0, 0, 0)
	b = append(append(b, r.agent[:]...), r.name[:]...)
	for _, n := range []int64{int64(r.at), r.size, r.mod} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	binary.BigEndian.PutUint32(b[from+4:], crc32.ChecksumIEEE(b[from+8:])+uint32(r.kind))
	return b
}

func parseRecord(b []byte) (r record, ok bool) {
	if string(b[:3]) != "pf1" || binary.BigEndian.Uint32(b[4:]) != crc32.ChecksumIEEE(b[8:recordSize])+uint32(b[3]) {
		return r, false
	}
	r.kind = b[3]
	copy(r.agent[:], b[8:])
	copy(r.name[:], b[40:])
	r.at = perdure.Cursor(binary.BigEndian.Uint64(b[72:]))
	r.size, r.mod = int64(binary.BigEndian.Uint64(b[80:])), int64(binary.BigEndian.Uint64(b[88:]))
	return r, true
}

func (a *arrivals) close() error {
	if a.f == nil {
		return nil
	}
	f := a.f
	a.f = nil
	return f.Close()
}

// catchUp reads what other processes appended, and begins a feed if there is none. The caller has the lock.
func (a *arrivals) catchUp() error {
	there, err := os.Stat(a.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if a.f != nil {
		here, err := a.f.Stat()
		if err != nil || there == nil || !os.SameFile(here, there) || there.Size() < (a.n+1)*recordSize {
			_ = a.close() // it was removed, replaced or cut
		}
	}
	if a.f == nil {
		if a.f, err = disk.OpenPlain(a.path, os.O_RDWR|os.O_CREATE, disk.ModeIn(filepath.Dir(a.path))); err != nil {
			return err
		}
		a.id, a.n, a.last, a.marks = perdure.Hash{}, 0, 0, map[perdure.AgentID]mark{}
	}
	if a.id.IsZero() {
		if err := a.begin(); err != nil {
			return err
		}
	}
	before := a.n
	if err := a.read(a.n, func(r record) bool { a.take(r); return true }); err != nil {
		return err
	}
	if a.n > before { // whoever wrote it may have been killed before it was on the disk
		return a.f.Sync()
	}
	return nil
}

// begin finds the id of the feed, or begins another.
func (a *arrivals) begin() error {
	b := make([]byte, recordSize)
	_, err := a.f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if r, ok := parseRecord(b); ok && r.kind == recordBegins {
		a.id = r.name
		return nil
	}
	r := record{kind: recordBegins}
	if _, err := io.ReadFull(entropy.Reader, r.name[:]); err != nil {
		return err
	}
	if err := a.f.Truncate(0); err != nil {
		return err
	}
	if _, err := a.f.WriteAt(r.append(nil), 0); err != nil {
		return err
	}
	if err := errors.Join(a.f.Sync(), disk.Sync(filepath.Dir(a.path))); err != nil {
		return err
	}
	a.id = r.name
	return nil
}

// read calls f with the records after a number until it returns false. It ends at the first that is not whole: what
// follows that was never shown to anybody.
func (a *arrivals) read(after int64, f func(record) bool) error {
	in := io.NewSectionReader(a.f, (after+1)*recordSize, 1<<60)
	b := make([]byte, 256*recordSize)
	for {
		n, err := io.ReadFull(in, b)
		for ; n >= recordSize; n -= recordSize {
			r, ok := parseRecord(b)
			if !ok || !f(r) {
				return nil
			}
			b = b[recordSize:]
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", a.path, err)
		}
		b = make([]byte, 256*recordSize)
	}
}

// take counts a record in.
func (a *arrivals) take(r record) {
	a.n++
	switch r.kind {
	case recordEntry:
		a.last = a.n
		a.marks[r.agent] = r.mark
	case recordMark:
		a.marks[r.agent] = r.mark
	case recordGone:
		delete(a.marks, r.agent)
	}
}

// write appends records, durably, in the place of what a killed process left at the end. The caller has the lock and
// has caught up.
func (a *arrivals) write(records []record) error {
	if len(records) == 0 {
		return nil
	}
	b := make([]byte, 0, len(records)*recordSize)
	for i := range records {
		b = records[i].append(b)
	}
	end := (a.n + 1) * recordSize
	if info, err := a.f.Stat(); err != nil || info.Size() > end {
		if err = errors.Join(err, a.f.Truncate(end)); err != nil {
			return err
		}
	}
	if _, err := a.f.WriteAt(b, end); err != nil {
		return err
	}
	if err := a.f.Sync(); err != nil {
		_ = a.close() // nobody can tell what is there: it is read again
		return err
	}
	for _, r := range records {
		a.take(r)
	}
	return nil
}

// namesOf are the entries of an agent that arrived and have not gone since.
func (a *arrivals) namesOf(id perdure.AgentID) (map[perdure.Hash]bool, error) {
	out := map[perdure.Hash]bool{}
	n := a.n
	err := a.read(0, func(r record) bool {
		if r.agent == id && r.kind == recordGone {
			clear(out)
		}
		if r.agent == id && r.kind == recordEntry {
			out[r.name] = true
		}
		n--
		return n > 0
	})
	return out, err
}
