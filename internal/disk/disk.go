// Package disk changes files in the steps that decide what a power cut leaves: what is written is durable once its file
// is synced, and a name is durable once its folder is.
//
// A test can put something else in the place of the disk, to see that every step is there and what happens when one
// fails.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Disk is told of every change to a file or a name, and makes it by calling do or open.
type Disk interface {
	Mkdir(path string, do func() error) error
	Open(path string, flag int, open func() (*os.File, error)) (File, error)
	Sync(path string, do func() error) error
	Link(path, to string, do func() error) error
	Rename(path, to string, do func() error) error
	Remove(path string, do func() error) error
}

// File is an open file, as *os.File is.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Seeker
	io.Closer
	Name() string
	Fd() uintptr
	Stat() (fs.FileInfo, error)
	Chmod(fs.FileMode) error
	Truncate(size int64) error
	Sync() error
}

// Mkdir makes a folder. Its name is durable once the folder above is synced.
func Mkdir(path string, perm fs.FileMode) error {
	return of(path).Mkdir(path, func() error { return os.Mkdir(path, perm) })
}

// MkdirAll makes a folder and those above it that are missing, durably.
func MkdirAll(path string, perm fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if above := filepath.Dir(path); above != path {
		if err := MkdirAll(above, perm); err != nil {
			return err
		}
	}
	err := Mkdir(path, perm)
	if info, serr := os.Stat(path); serr == nil && info.IsDir() {
		err = Sync(filepath.Dir(path)) // also if another process was first: it may not have come so far
	}
	return err
}

// OpenFile is os.OpenFile for a file that may be written to. What is written is durable once the file is synced, its
// name once its folder is.
func OpenFile(path string, flag int, perm fs.FileMode) (File, error) {
	return of(path).Open(path, flag, func() (*os.File, error) { return os.OpenFile(path, flag, perm) })
}

// CreateTemp makes a new file for its owner alone, with a random number in the place of the * in the pattern.
func CreateTemp(dir, pattern string) (File, error) {
	before, after, _ := strings.Cut(pattern, "*")
	for range 1000 {
		f, err := OpenFile(filepath.Join(dir, fmt.Sprint(before, rand.Uint32(), after)),
			os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, &fs.PathError{Op: "createtemp", Path: filepath.Join(dir, pattern), Err: fs.ErrExist}
}

// Write makes a new file. Its content is durable once it is synced, its name once its folder is.
func Write(path string, b []byte, perm fs.FileMode) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// Sync makes durable what a file holds, or the names in a folder.
func Sync(path string) error {
	return of(path).Sync(path, func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// Link gives a file a second name, unless there is a file of that name.
func Link(path, to string) error {
	return of(path).Link(path, to, func() error { return os.Link(path, to) })
}

// Rename gives a file another name. It takes the name from the file that has it, in one step.
func Rename(path, to string) error {
	return of(path).Rename(path, to, func() error { return os.Rename(path, to) })
}

// Remove takes a name away.
func Remove(path string) error {
	return of(path).Remove(path, func() error { return os.Remove(path) })
}

// System is the system's own disk.
type System struct{}

func (System) Mkdir(_ string, do func() error) error     { return do() }
func (System) Sync(_ string, do func() error) error      { return do() }
func (System) Link(_, _ string, do func() error) error   { return do() }
func (System) Rename(_, _ string, do func() error) error { return do() }
func (System) Remove(_ string, do func() error) error    { return do() }

func (System) Open(_ string, _ int, open func() (*os.File, error)) (File, error) {
	f, err := open()
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

// replaced are the disks of tests.
var replaced atomic.Pointer[[]*replacement]

type replacement struct {
	root string
	disk Disk
}

// of is the disk a path is on.
func of(path string) Disk {
	if rs := replaced.Load(); rs != nil {
		for _, r := range *rs {
			if path == r.root || strings.HasPrefix(path, r.root) && os.IsPathSeparator(path[len(r.root)]) {
				return r.disk
			}
		}
	}
	return System{}
}

// Replace puts d in the place of the disk for a folder and everything below it, until undo is called. It is for tests.
func Replace(folder string, d Disk) (undo func()) {
	r := &replacement{filepath.Clean(folder), d}
	change(func(rs []*replacement) []*replacement { return append(rs, r) })
	return func() {
		change(func(rs []*replacement) []*replacement {
			out := rs[:0]
			for _, o := range rs {
				if o != r {
					out = append(out, o)
				}
			}
			return out
		})
	}
}

// change replaces the list: readers keep the one they have.
func change(f func([]*replacement) []*replacement) {
	for {
		old := replaced.Load()
		var next []*replacement
		if old != nil {
			next = append(next, *old...)
		}
		if next = f(next); replaced.CompareAndSwap(old, &next) {
			return
		}
	}
}
