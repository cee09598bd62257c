package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Root is an os.Root whose changes are made as those of this package are.
type Root struct{ *os.Root }

// OpenRoot opens a folder.
func OpenRoot(dir string) (Root, error) {
	r, err := os.OpenRoot(dir)
	return Root{r}, err
}

func (r Root) path(name string) string { return filepath.Join(r.Name(), filepath.FromSlash(name)) }

// OpenFile is os.Root.OpenFile.
func (r Root) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	path := r.path(name)
	return of(path).Open(path, flag, func() (*os.File, error) { return r.Root.OpenFile(name, flag, perm) })
}

// Rename is os.Root.Rename.
func (r Root) Rename(name, to string) error {
	path := r.path(name)
	return of(path).Rename(path, r.path(to), func() error { return r.Root.Rename(name, to) })
}

// Remove is os.Root.Remove.
func (r Root) Remove(name string) error {
	path := r.path(name)
	return of(path).Remove(path, func() error { return r.Root.Remove(name) })
}

// MkdirAll is os.Root.MkdirAll, durably.
func (r Root) MkdirAll(name string, perm fs.FileMode) error {
	if info, err := r.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if above := filepath.Dir(name); above != "." {
		if err := r.MkdirAll(above, perm); err != nil {
			return err
		}
	}
	path := r.path(name)
	err := of(path).Mkdir(path, func() error { return r.Mkdir(name, perm) })
	if info, serr := r.Stat(name); serr == nil && info.IsDir() {
		err = r.Sync(filepath.Dir(name)) // also if another process was first: it may not have come so far
	}
	return err
}

// Sync makes the names in a folder durable.
func (r Root) Sync(name string) error {
	path := r.path(name)
	return of(path).Sync(path, func() error {
		f, err := r.Open(name)
		if err != nil {
			return err
		}
		err = f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	})
}

// Exchange gives two files of one folder each other's names, in one step, so that what had a name before is not lost
// but has the other. Where the system cannot, nothing happens, and the error wraps errors.ErrUnsupported.
func (r Root) Exchange(name, to string) error {
	path := r.path(name)
	return of(path).Rename(path, r.path(to), func() error {
		dir, err := r.Open(filepath.Dir(name))
		if err != nil {
			return err
		}
		return errors.Join(exchange(dir, filepath.Base(name), filepath.Base(to)), dir.Close())
	})
}

// Link is os.Root.Link.
func (r Root) Link(name, to string) error {
	path := r.path(name)
	return of(path).Link(path, r.path(to), func() error { return r.Root.Link(name, to) })
}
