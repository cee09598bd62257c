package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

const (
	quiet = 250 * time.Millisecond // how long a folder must be still before it is synced
	// longest is how long it is synced at the latest, however much is written
	longest = 2 * time.Second
	// glance is how often it is looked at where the system does not tell of changes, and slowly where it does: a system
	// may forget to
	glance, slowly = time.Second, time.Minute
)

// Watch syncs a folder whenever something changes in it or in memory, until ctx ends. Each is told what every sync did
// that did something; its error ends it.
func (f *Folder) Watch(ctx context.Context, each func(*Report) error) error {
	f.watched = true
	defer func() { f.watched = false }()
	r, err := f.Sync(ctx)
	if err != nil {
		return err
	}
	if err := each(r); err != nil {
		return err
	}
	last, moved := r.Changes, false
	changes := view.Watch(ctx, f.Reader.Store)
	told := &touched{signal: make(chan struct{}, 1), whole: true} // what changed before it was watched
	every := glance
	if n, err := newNotices(f.dir); err == nil { // else it is looked at often
		every = slowly
		defer n.close()
		go n.run(ctx, told.add)
	}
	told.add("")
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes.Signal:
			changes.Take()
			if same, err := f.same(ctx); err != nil || same {
				if err != nil {
					return err
				}
				continue
			}
		case <-told.signal:
		case <-tick.C:
			told.all()
		}
		settled(ctx, told.signal)
		r, err := f.syncSome(ctx, told.take())
		if errors.Is(err, ErrMoved) {
			if !moved {
				r := &Report{Dir: f.Dir, Role: f.Reader.Role(), Changes: []Change{}, Notes: []string{err.Error()}}
				if err := each(r); err != nil {
					return err
				}
			}
			moved = true // and goes on when git has
			told.all()
			continue
		}
		if err != nil {
			return err
		}
		moved = false
		for _, c := range r.Changes {
			if c.Status == Waits {
				time.AfterFunc(settle, func() { told.add(c.File) })
			}
		}
		if !r.idle(last) {
			if err := each(r); err != nil {
				return err
			}
		}
		last = r.Changes
	}
}

// idle reports whether a sync did nothing, and says nothing that the one before did not say.
func (r *Report) idle(last []Change) bool {
	did := slices.ContainsFunc(r.Changes, func(c Change) bool {
		return c.Status != Refused && c.Status != Waits && !c.stays
	})
	return r.Commit == "" && !did && (len(r.Changes) == 0 || slices.Equal(r.Changes, last))
}

// same reports whether nothing has arrived in the store since it was asked last.
func (f *Folder) same(ctx context.Context) (bool, error) {
	feeder, ok := f.Reader.Store.(perdure.Feeder)
	if !ok {
		return false, nil
	}
	feed, end, err := feeder.FeedEnd(ctx)
	was := f.seen
	f.seen = seen{feed, end}
	return was == f.seen, err
}

// seen is up to where memory was looked at.
type seen struct {
	feed perdure.Hash
	end  perdure.Cursor
}

// touched collects which files of a folder may have changed.
type touched struct {
	signal chan struct{} // has something when there is something to take

	mu    sync.Mutex
	names map[string]bool
	whole bool // any may have
}

// add notes a file; without a name, any.
func (t *touched) add(name string) {
	t.mu.Lock()
	if t.names == nil {
		t.names = map[string]bool{}
	}
	if name == "" || len(t.names) >= page {
		t.whole = true
	} else {
		t.names[name] = true
	}
	t.mu.Unlock()
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// all notes that any file may have changed, for the next who takes.
func (t *touched) all() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole = true
}

// take is what was noted; nil: any.
func (t *touched) take() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := t.names
	if t.whole {
		names = nil
	} else if names == nil {
		names = map[string]bool{}
	}
	t.names, t.whole = nil, false
	return names
}

// syncSome is Sync for these files, and for what changed in memory since the last: what it costs depends on that. What
// git put back is seen only in the whole.
func (f *Folder) syncSome(ctx context.Context, names map[string]bool) (*Report, error) {
	if !f.Git {
		f.only = names
		defer func() { f.only = nil }()
	}
	return f.Sync(ctx)
}

// settled waits until nothing is told for a moment.
func settled(ctx context.Context, told <-chan struct{}) {
	latest := time.NewTimer(longest)
	defer latest.Stop()
	for {
		still := time.NewTimer(quiet)
		select {
		case <-told:
			still.Stop()
			continue
		case <-ctx.Done():
		case <-latest.C:
		case <-still.C:
		}
		still.Stop()
		return
	}
}

// notices is what the system tells of changes in a folder.
type notices struct {
	w    *fsnotify.Watcher
	root string
}

func newNotices(root string) (*notices, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	n := &notices{w, root}
	if err := n.add(root); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return n, nil
}

// add has a folder and those below it watched.
func (n *notices) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if rel, err := filepath.Rel(n.root, path); err != nil || rel != "." && hidden(filepath.ToSlash(rel)) {
			return fs.SkipDir
		}
		return n.w.Add(path)
	})
}

// run calls tell for each change that may matter.
func (n *notices) run(ctx context.Context, tell func(name string)) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-n.w.Errors:
			if !ok {
				return
			}
			tell("") // something was missed
		case e, ok := <-n.w.Events:
			if !ok {
				return
			}
			rel, err := filepath.Rel(n.root, e.Name)
			if err != nil || rel != "." && hidden(filepath.ToSlash(rel)) {
				continue
			}
			info, err := os.Lstat(e.Name)
			if err == nil && info.IsDir() {
				if rel = "."; e.Has(fsnotify.Create) {
					_ = n.add(e.Name) // what is not watched is looked at now and then
				}
			}
			if rel == "." || err != nil { // a folder: any file in it
				rel = ""
			}
			tell(filepath.ToSlash(rel))
		}
	}
}

func (n *notices) close() { _ = n.w.Close() }
