package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/workspace"
)

// Folder is the memory of a role as a folder. Reader, State and Dir must be set, and nothing may be changed after the
// first use. One process at a time may use a folder: whoever makes one sees to that.
type Folder struct {
	Reader *workspace.Reader // sees what the role may see
	Person *workspace.Reader // signs what people change; nil: Reader
	State  *State
	Dir    string
	Store  string // the name of the store, by which a folder of another is told; empty: any may be

	// Adopt lets a folder be used that has other files in it, or is that of another store: they become documents.
	Adopt bool
	// Delete takes documents away whose files a person took away. Without it such files are put back.
	Delete bool
	// Revert takes a folder that git put back to an earlier state as what people want to be in memory.
	Revert bool
	// Git commits to the repository that the folder is in; it is made if there is none.
	Git bool

	plan plan
	tree *tree
	dir  string // Dir, as it is known
	id   int64

	looks   bool // nothing is to be changed
	seen    seen
	only    map[string]bool // the files to be synced, beside what changed in memory; nil: all
	upTo    int64           // up to where documents are known
	watched bool            // commits wait for a reason
	noGit   *bool           // git is not installed; nil: nobody has looked
	unlock  func() error
	asides  []spot // documents that were written beside the one of a file, in this sync

	fail func(at string) error // for tests: a crash at a point
	late func(file string)     // for tests: the moment before a file is replaced
	mid  func(file string)     // for tests: the moment after a file was looked at, before it is read
}

// marker says whose memory a folder is, for whoever finds it, and for a clone of it.
type marker struct {
	Perdure string `json:"perdure"`
	Role    string `json:"role"`
	Version int    `json:"version"`
}

// markerVersion is that of the layout of folders.
const markerVersion = 1

// ErrFolder says that a folder is not one that memory may be projected into.
var ErrFolder = errors.New("the folder is not this memory's")

// open looks at the folder, and makes it if there is none. Nobody else syncs until close.
func (f *Folder) open(ctx context.Context) (err error) {
	if f.unlock, err = f.State.lock(); err != nil {
		return err
	}
	if err := f.find(ctx); err != nil {
		return errors.Join(err, f.unlock())
	}
	return nil
}

func (f *Folder) find(ctx context.Context) (err error) {
	if f.Reader.Role() == "" {
		return perdure.WithHint(perdure.Invalid(errors.New("a folder is the memory of a role")), "name it with --role")
	}
	f.asides = nil
	f.plan = plan{f.Reader.Role(), f.Reader.Scope()}
	if f.dir, err = filepath.Abs(f.Dir); err != nil {
		return err
	}
	if _, err := os.Stat(f.dir); f.looks && errors.Is(err, fs.ErrNotExist) {
		return perdure.WithHint(perdure.Missing("there is no folder "+f.Dir), "make it: perdure files sync "+f.Dir)
	}
	if err := disk.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	if f.dir, err = filepath.EvalSymlinks(f.dir); err != nil {
		return err
	}
	var known bool
	if f.id, known, err = f.State.folder(ctx, f.dir, f.Reader.Agent()); err != nil {
		return err
	}
	root, err := disk.OpenRoot(f.dir)
	if err != nil {
		return err
	}
	f.tree = &tree{root, f.late, f.mid}
	err = f.mark(ctx, known)
	if err == nil {
		err = f.own()
	}
	if err != nil {
		return errors.Join(err, root.Close())
	}
	return nil
}

// close ends the use of the folder.
func (f *Folder) close() error { return errors.Join(f.tree.root.Close(), f.unlock()) }

// mark checks whose folder it is, and makes a new one the role's.
func (f *Folder) mark(ctx context.Context, known bool) error {
	was, err := f.tree.read(markerName)
	switch {
	case err == nil && was != nil:
		var m marker
		if err := json.Unmarshal(was.raw, &m); err != nil || m.Perdure != "folder" {
			return fmt.Errorf("%w: %s cannot be read; remove it and use --adopt", ErrFolder, markerName)
		}
		if m.Version > markerVersion {
			return fmt.Errorf("%w: a newer perdure made it (layout %d, and this one knows %d)", ErrFolder, m.Version,
				markerVersion)
		}
		if m.Role != f.Reader.Role() {
			return perdure.WithHint(perdure.Invalid(fmt.Errorf("%w: %s is the memory of %s, not of %s", ErrFolder,
				f.Dir, m.Role, f.Reader.Role())), "name another folder, or --role "+m.Role)
		}
		return nil
	case err != nil:
		return err
	}
	if !f.Adopt {
		if err := f.unused(known); err != nil {
			return err
		}
	}
	if f.looks {
		return nil
	}
	if known { // it was emptied as a whole: nobody took single files away
		if err := f.State.anew(ctx, f.id); err != nil {
			return err
		}
	}
	b, err := json.Marshal(marker{"folder", f.Reader.Role(), markerVersion})
	if err != nil {
		return err
	}
	return f.tree.create(markerName, string(b)+"\n")
}

// owner says which store a folder belongs to, and where that folder is: a copy of it, such as a clone, is free.
type owner struct {
	Store string `json:"store"`
	Dir   string `json:"dir"`
}

// own refuses a folder that belongs to another store, and makes a free one this store's. Two memories of roles of one
// name would be mixed in it, both ways.
func (f *Folder) own() error {
	want := owner{f.Store, f.dir}
	if f.Store == "" {
		return nil
	}
	was, err := f.tree.read(ownerName)
	if err != nil {
		return err
	}
	if was != nil {
		var is owner
		err := json.Unmarshal(was.raw, &is)
		if err == nil && is == want {
			return nil
		}
		if err == nil && is.Dir == f.dir && !f.Adopt {
			return perdure.WithHint(perdure.Invalid(fmt.Errorf("%w: %s is the memory of another store, %s", ErrFolder,
				f.Dir, is.Store)), "name another folder, or that store; if it is this one by now, use --adopt: what "+
				"is in the files is taken in")
		}
	}
	if f.looks {
		return nil
	}
	b, err := json.Marshal(want)
	if err == nil && was != nil {
		err = f.tree.root.Remove(ownerName)
	}
	if err != nil {
		return err
	}
	if err := f.tree.create(ownerName, string(b)+"\n"); err != nil {
		return err
	}
	if there, err := f.tree.root.Lstat(ignoreName); there != nil || !errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else's, who decides what git sees
	}
	return f.tree.create(ignoreName, ignored)
}

// ignored keeps what is of this machine alone out of what git shows and adds, and itself.
const ignored = "# of perdure files: what is about this machine alone\n/" + ignoreName + "\n/" + ownerName + "\n*" +
	partExt + "\n"

// unused refuses a folder that somebody else uses.
func (f *Folder) unused(known bool) error {
	if known {
		return perdure.WithHint(perdure.Invalid(fmt.Errorf("%w: %s has lost its %s: it was emptied, or is not mounted",
			ErrFolder, f.Dir, markerName)), "put it back, or begin anew with --adopt: nothing in memory is removed")
	}
	found, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, one := range found {
		if !hidden(one.Name()) {
			return perdure.WithHint(perdure.Invalid(fmt.Errorf("%w: %s has files in it, such as %s", ErrFolder, f.Dir,
				one.Name())), "name an empty or new folder, or use --adopt to make the files there documents")
		}
	}
	return nil
}

// person is on whose behalf changes in files are written.
func (f *Folder) person() *workspace.Reader {
	p := f.Person
	if p == nil {
		p = f.Reader
	}
	return p.SpokenBy(p.Node.Key.Name + " in files")
}

// stamp is what is written behind a box that somebody ticked.
func (f *Folder) stamp() string { return "done " + time.Now().Format(time.DateOnly) }

// at is a point at which a test may crash.
func (f *Folder) at(point string) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(point)
}
