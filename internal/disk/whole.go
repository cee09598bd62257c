package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// partExt is how the file ends in which a file is written before it has its name.
const partExt = ".perdure-part"

// WriteWhole has write fill a file that takes its name only when write succeeds, and is on the disk then. A device or a
// pipe, which cannot be replaced, is written to as it is.
func WriteWhole(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := openPart(name + partExt)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err == nil { // under its lock: nobody else takes it for what a killed process left
		err = Rename(f.Name(), name)
	} else {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return Sync(filepath.Dir(name))
}

// WriteNew makes a new file that is durable, with all that it holds, or none at all: one that was cut off would be
// taken for what somebody chose. The error wraps fs.ErrExist if there is a file of that name, which it leaves alone.
func WriteNew(path string, b []byte, perm fs.FileMode) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	dir, name := filepath.Split(path)
	temp := fmt.Sprintf("%s.%s%s%08x", dir, name, newMark, rand.Uint32()) // not NAME.…, which some look for
	err := Write(temp, b, perm)
	if err == nil {
		err = Sync(temp)
	}
	if err != nil {
		return errors.Join(err, gone(temp))
	}
	if err = Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		if err = Write(path, b, perm); err == nil {
			err = Sync(path)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = errors.Join(err, gone(path))
		}
	}
	return errors.Join(err, gone(temp), Sync(filepath.Dir(path)))
}

// gone removes a file that may not be there.
func gone(path string) error {
	if err := Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openPart opens an empty file for this process alone. What a process left that was killed is used again.
func openPart(name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := Lock(f, false); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: another run is writing it; wait for it, or name another file",
				name), f.Close())
		}
		mine, err := f.Stat()
		if err == nil {
			if there, gone := os.Stat(name); gone == nil && os.SameFile(mine, there) {
				return f, f.Truncate(0)
			}
		}
		if err = errors.Join(err, f.Close()); err != nil { // it has its name by now: begin another
			return nil, err
		}
	}
}
