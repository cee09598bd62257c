// Package disk changes files in the steps that decide what a power cut leaves: what is written is durable once its file is synced, and a
// name is durable once its folder is.
//
// A test can put something else in the place of the disk, to see that every step is there and what happens when one fails.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Disk is what the functions of this package do.
type Disk interface {
	Mkdir(path string, perm fs.FileMode) error
	Write(path string, b []byte, perm fs.FileMode) error
	Sync(path string) error
	Link(path, to string) error
	Rename(path, to string) error
	Remove(path string) error
}

// Mkdir makes a folder. Its name is durable once the folder above is synced.
func Mkdir(path string, perm fs.FileMode) error { return of(path).Mkdir(path, perm) }

// Write makes a new file. Its content is durable once it is synced, its name once its folder is.
func Write(path string, b []byte, perm fs.FileMode) error { return of(path).Write(path, b, perm) }

// Sync makes durable what a file holds, or the names in a folder.
func Sync(path string) error { return of(path).Sync(path) }

// Link gives a file a second name, unless there is a file of that name.
func Link(path, to string) error { return of(path).Link(path, to) }

// Rename gives a file another name. It takes the name from the file that has it, in one step.
func Rename(path, to string) error { return of(path).Rename(path, to) }

// Remove takes a name away.
func Remove(path string) error { return of(path).Remove(path) }

// System is the system's own disk.
type System struct{}

// Mkdir implements Disk.
func (System) Mkdir(path string, perm fs.FileMode) error { return os.Mkdir(path, perm) }

// Write implements Disk.
func (System) Write(path string, b []byte, perm fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// Sync implements Disk.
func (System) Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Link implements Disk.
func (System) Link(path, to string) error { return os.Link(path, to) }

// Rename implements Disk.
func (System) Rename(path, to string) error { return os.Rename(path, to) }

// Remove implements Disk.
func (System) Remove(path string) error { return os.Remove(path) }

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
