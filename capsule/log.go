package capsule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Log is a capsule file that entries are appended to, by any number of processes. It is what a store keeps of one
// agent. A cursor is the number of entries up to and including the one it stands for.
//
// The methods that add or drop need the lock. All methods may be called by several goroutines.
type Log struct {
	path string

	mu      sync.Mutex
	f       disk.File
	form    Form
	head    Head
	whole   int64           // where what is whole ends
	rows    []row           // those that are not kept elsewhere
	at      map[short]int32 // which entry of the file it is, of those in rows
	heads   headSet
	snaps   []perdure.Cursor
	bare    int64 // how many entries are
	counted int   // of the entries, for what dropped says
	dropped gone  // what the memory says of bodies that were dropped
	torn    bool  // the file ends in the middle of an entry
	cut     bool  // it was an exported capsule, whose end was missing
	messy   bool  // a merge left more in the file than its entries
	locked  bool
	named   bool  // that the file is at its path is known to be durable
	doubted bool  // that it is was not made durable: it is written anew before anything else is
	fault   error // after a write that may have left anything

	aside  string      // where a capsule is kept as it was whose end was missing
	looks  bool        // nothing is ever written to the file
	source fs.FileInfo // of a file that is not in the form of a store, and only looked at; nil: it is
	copied bool        // f is a copy of it that is

	kept
	scanned  int64 // entries read to know what is in the file
	scanning bool
	wrong    bool // the kept rows were found to be damaged meanwhile
}

// errLooks says that a file was opened to look at.
var errLooks = errors.New("it was opened read-only")

// row is where an entry lies in the file, and what of it a store is asked for.
type row struct {
	name    perdure.Hash
	at, end int64
	due     perdure.Time
	chunks  int32
	bare    bool // its body was dropped
	event   bool
}

// CreateLog makes the file of a new agent, durably and all at once. It returns an error wrapping fs.ErrExist if there
// is one.
func CreateLog(path string, form Form, entries ...*perdure.Entry) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("create %s: %w", path, fs.ErrExist)
	}
	if len(entries) == 0 {
		return fmt.Errorf("create %s: no entries", path)
	}
	id := entries[0].ID()
	list, err := (&Log{head: newHead(id, 0)}).missing(entries) // all or none
	if err != nil {
		return err
	}
	b, err := logBytes(form, id, list)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	f, err := replaceFile(path, func(f disk.File) error { _, err := f.Write(b); return err })
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return f.Close()
}

// Staged is the file of an agent that is durable and has no name yet: nobody sees it.
type Staged struct {
	f    disk.File
	path string
}

// StageLog writes the file of an agent, to be placed at a path once all of it is there. A process that dies before that
// leaves nothing but a temporary file.
func StageLog(path string, form Form, id perdure.AgentID, d Depth, entries iter.Seq2[*perdure.Entry, error]) (*Staged,
	error) {
	first, err := firstOf(entries)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	head, err := headAt(id, d, first)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	l := &Log{head: head, form: form}
	f, err := stageFile(path, func(f disk.File) error {
		return l.writeStore(f, func(w *writer) error { return l.fill(w, entries) })
	})
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return &Staged{f, path}, nil
}

func firstOf(entries iter.Seq2[*perdure.Entry, error]) (*perdure.Entry, error) {
	for e, err := range entries {
		return e, err
	}
	return nil, errors.New("no entries")
}

// Place gives the file its name, which no other has. The caller keeps others from making one meanwhile.
func (s *Staged) Place() error {
	if _, err := os.Lstat(s.path); err == nil {
		s.Discard()
		return fmt.Errorf("create %s: %w", s.path, fs.ErrExist)
	}
	if err := placeFile(s.f, s.path); err != nil {
		return fmt.Errorf("create %s: %w", s.path, err)
	}
	return s.f.Close()
}

// Discard takes the file away.
func (s *Staged) Discard() {
	_ = s.f.Close()
	_ = disk.Remove(s.f.Name()) // a temporary file that stays does no harm
}

// logBytes is the head of a store's file and its first entries.
func logBytes(form Form, id perdure.AgentID, entries []*perdure.Entry) ([]byte, error) {
	var b bytes.Buffer
	w, err := newLogWriter(&b, form)
	if err != nil {
		return nil, err
	}
	head := newHead(id, 0)
	if err := w.head(&head); err != nil {
		return nil, err
	}
	for i, e := range entries {
		if err := w.entry(e, i+1 < len(entries)); err != nil {
			return nil, err
		}
	}
	err = w.flush(true)
	return b.Bytes(), err
}

// newLogWriter writes bodies with all their chunks.
func newLogWriter(w io.Writer, form Form) (*writer, error) {
	c, err := newWriter(w, form)
	if err == nil {
		c.seen.max = 0
	}
	return c, err
}

// replaceFile makes a file durably and all at once: written beside, synced, renamed. It returns the file, open.
func replaceFile(path string, fill func(disk.File) error) (disk.File, error) {
	f, err := stageFile(path, fill)
	if err == nil {
		err = placeFile(f, path)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// stageFile makes a durable file beside the one it is to replace.
func stageFile(path string, fill func(disk.File) error) (disk.File, error) {
	f, err := disk.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	mode := disk.ModeIn(filepath.Dir(path))
	if old, err := os.Lstat(path); err == nil && old.Mode().IsRegular() {
		mode = old.Mode().Perm() // whoever could read it still can
	}
	if err = f.Chmod(mode); err == nil {
		err = fill(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close()
		_ = disk.Remove(f.Name()) // the error that led here is the one to tell
		return nil, err
	}
	return f, nil
}

// unnamed says that a file has its name, and that nobody knows whether it keeps that when the power goes. To sync the
// folder again does not help: what a failed sync should have written may be given up.
type unnamed struct{ error }

func (u unnamed) Unwrap() error { return u.error }

// placeFile durably gives a staged file its name; if it cannot, the file is gone.
func placeFile(f disk.File, path string) error {
	err := disk.Rename(f.Name(), path)
	if err == nil {
		if err = disk.Sync(filepath.Dir(path)); err != nil {
			err = unnamed{err}
		}
	}
	if err != nil {
		_ = f.Close()
		_ = disk.Remove(f.Name()) // the error that led here is the one to tell
	}
	return err
}

// OpenLog opens the file of an agent. An exported capsule becomes the file of a store first. It returns an error
// wrapping fs.ErrNotExist if there is no file, and a *perdure.Rejection if it is no capsule of a whole agent.
func OpenLog(path string) (*Log, error) { return openLog(&Log{path: path}) }

// lookLog is OpenLog to look at the file only: nothing is written to it or beside it, whatever its form and whatever a
// crash left in it. It cannot be locked, nor added to.
func lookLog(path string) (*Log, error) { return openLog(&Log{path: path, looks: true}) }

func openLog(l *Log) (*Log, error) {
	path := l.path
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reopen(); err != nil {
		_ = l.close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return l, nil
}

// Aside is the file that an exported capsule whose end was missing is kept in as it was; empty: the file was not that.
func (l *Log) Aside() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aside
}

// Agent is whose file it is.
func (l *Log) Agent() perdure.AgentID { return l.head.Agent }

// Depth is how much of the agent's memory the file holds. Whoever brought the file may have left bodies out and said
// otherwise: one that lacks more of them than those say were dropped whose word t takes for it (see Trust.Dropped) is
// not whole.
func (l *Log) Depth(t *perdure.Trust) (Depth, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.head.Holds()
	if d != perdure.Full {
		return d, nil
	}
	if l.kept.count > 0 && len(l.kept.secret) == 0 { // what lies beside the file may be whoever's who brought it
		if err := l.distrust(); err != nil {
			return d, fmt.Errorf("read %s: %w", l.path, err)
		}
	}
	if l.bare == 0 {
		return d, nil
	}
	if err := l.countDropped(); err != nil {
		return d, fmt.Errorf("read %s: %w", l.path, err)
	}
	if l.bare > l.dropped.known(t) {
		return perdure.Headers, nil
	}
	return d, nil
}

// countDropped reads what events that were not looked at yet say of bodies that were dropped.
func (l *Log) countDropped() error {
	for ; l.counted < l.len(); l.counted++ {
		r, err := l.row(l.counted)
		if err != nil {
			return err
		}
		if r.bare || !r.event && l.counted > 0 {
			continue
		}
		e, err := l.read(l.decoderAt(r.at), r)
		if err != nil {
			return err
		}
		l.dropped.note(e)
	}
	return nil
}

// Path is where the file is.
func (l *Log) Path() string { return l.path }

// Close lets the file go.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.close()
}

func (l *Log) close() error {
	l.kept.close()
	if l.f == nil {
		return nil
	}
	f, isCopy := l.f, l.copied
	l.f, l.locked, l.source, l.copied = nil, false, nil, false
	err := f.Close()
	if isCopy {
		_ = disk.Remove(f.Name()) // where an open file could not be removed
	}
	return err
}

// reopen opens the file anew and reads all of it.
func (l *Log) reopen() error {
	_ = l.close() // nothing was written through it that was not synced
	info, err := os.Lstat(l.path)
	if err != nil {
		return err
	}
	if err := checkRegular(filepath.Base(l.path), info); err != nil {
		return err
	}
	f, err := l.openFile()
	if errors.Is(err, fs.ErrPermission) {
		f, err = disk.OpenFile(l.path, os.O_RDONLY, 0)
	}
	if err != nil {
		return err
	}
	l.begun(f)
	l.cut = false
	return l.scan()
}

func (l *Log) openFile() (disk.File, error) {
	if l.looks {
		return disk.OpenFile(l.path, os.O_RDONLY, 0)
	}
	return disk.OpenFile(l.path, os.O_RDWR, 0)
}

// begun forgets everything but the file, of which nothing has been read yet.
func (l *Log) begun(f disk.File) {
	l.kept.close()
	l.f, l.rows, l.at, l.heads, l.snaps, l.whole, l.messy, l.torn, l.fault = f, nil, map[short]int32{}, headSet{},
		nil, 0, false, false, nil
	l.bare, l.counted, l.dropped, l.named = 0, 0, gone{}, false
}

// Lock takes the file for this Log alone, waiting for others to finish, cuts what a crash left at its end, and brings
// the Log up to date. The caller calls Unlock.
func (l *Log) Lock() error { return l.lock(true) }

// inUse is the error of a file that somebody else has: another node was first.
type inUse struct{ error }

func (e inUse) Unwrap() error { return e.error }

func (e inUse) Is(target error) bool {
	return target == perdure.ErrConflict && errors.Is(e.error, disk.ErrLocked)
}

func (l *Log) lock(wait bool) error {
	if l.looks {
		return fmt.Errorf("lock %s: %w", l.path, errLooks)
	}
	l.mu.Lock()
	for range 100 {
		if l.f == nil || l.fault != nil {
			if err := l.reopen(); err != nil {
				l.mu.Unlock()
				return fmt.Errorf("lock %s: %w", l.path, err)
			}
		}
		if err := disk.Lock(l.f, wait); err != nil {
			l.mu.Unlock()
			return fmt.Errorf("lock %s: %w", l.path, inUse{err})
		}
		same, err := l.same()
		if err == nil && !same { // another process has put a new file in its place
			err = l.reopen()
			if err == nil {
				continue
			}
		}
		if err == nil {
			l.locked = true
			err = l.tidy()
		}
		if err == nil && l.doubted {
			err = l.rewrite()
		}
		if err != nil {
			l.unlock()
			return fmt.Errorf("lock %s: %w", l.path, err)
		}
		return nil
	}
	l.mu.Unlock()
	return fmt.Errorf("lock %s: it is replaced again and again", l.path)
}

// Unlock lets others at the file.
func (l *Log) Unlock() { l.unlock() }

func (l *Log) unlock() {
	l.locked = false
	if l.f != nil {
		_ = disk.Unlock(l.f) // closing the file gives the lock back, too
	}
	l.mu.Unlock()
}

// same reports whether the file that is open is the one at the path.
func (l *Log) same() (bool, error) {
	if was := l.source; was != nil {
		now, err := os.Stat(l.path)
		return err == nil && os.SameFile(was, now) && was.Size() == now.Size() &&
			was.ModTime().Equal(now.ModTime()), err
	}
	here, err := l.f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(l.path)
	if err != nil {
		return false, err
	}
	return os.SameFile(here, there), nil
}

// tidy brings a locked Log up to date and its file into the form that entries are appended to.
func (l *Log) tidy() error {
	if err := l.scan(); err != nil {
		return err
	}
	if l.messy {
		return l.rewrite()
	}
	info, err := l.f.Stat()
	if err != nil || info.Size() == l.whole {
		return err
	}
	return l.f.Truncate(l.whole)
}

// Refresh reads what other processes have added. It does not need the lock.
func (l *Log) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refresh()
}

func (l *Log) refresh() error {
	if l.locked {
		return nil
	}
	if l.f != nil && l.fault == nil {
		same, err := l.same()
		if err != nil {
			return fmt.Errorf("read %s: %w", l.path, err)
		}
		if info, err := l.f.Stat(); same && err == nil && info.Size() == l.whole || same && l.scan() == nil {
			return nil
		}
		if same && !l.looks { // somebody may be in the middle of writing: look again when they are done
			if err := disk.Lock(l.f, true); err != nil {
				return fmt.Errorf("read %s: %w", l.path, err)
			}
		}
	}
	if err := l.reopen(); err != nil {
		return fmt.Errorf("read %s: %w", l.path, err)
	}
	return nil
}

// Heads are the entries without a child, ascending.
func (l *Log) Heads() []perdure.Hash {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heads.all())
}

// CopyTo writes the file as far as it is whole, whatever somebody is writing to its end meanwhile.
func (l *Log) CopyTo(w io.Writer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.Copy(w, io.NewSectionReader(l.f, 0, l.whole))
	return err
}

// Len is how many entries there are.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.len()
}

// Due is the earliest due of the heads; zero: none.
func (l *Log) Due() perdure.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due perdure.Time
	for _, h := range l.heads.all() {
		i, _ := l.near(h)
		if r, err := l.row(i); err == nil && r.due != 0 && (due == 0 || r.due < due) {
			due = r.due
		}
	}
	return due
}

// Snapshots are where the snapshots lie that named every head when they arrived and still have their body, newest
// first.
func (l *Log) Snapshots() []perdure.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []perdure.Cursor
	for _, c := range slices.Backward(l.snaps) {
		if r, err := l.row(int(c) - 1); err == nil && !r.bare {
			out = append(out, c)
		}
	}
	return out
}

// LockFile opens a file, making it if there is none, and takes its lock, waiting for others to finish. Closing it gives
// the lock back.
func LockFile(path string) (io.Closer, error) {
	f, err := disk.OpenPlain(path, os.O_RDWR|os.O_CREATE, disk.ModeIn(filepath.Dir(path)))
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(f, true); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
