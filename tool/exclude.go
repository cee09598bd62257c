package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure/internal/disk"
)

// exclusions are files and folders of this machine that tools keep out of, such as the home of the node: an agent that
// reads the key signs as the node, and one that writes a policy permits itself everything. They are recognised by path,
// in any case of letters, and by identity, so that no link, hard link or mount leads into them. One that is not there
// yet is kept out of by its path, so that nobody makes it. So are the homes of other nodes, which only their name
// tells: an agent that works in a folder above one could as well have its key and its trust.
type exclusions []exclusion

type exclusion struct{ path string } // absolute, without links as far as it is there

func newExclusions(paths []string) exclusions {
	var out exclusions
	for _, p := range paths {
		if p != "" {
			out = append(out, exclusion{realPath(p)})
		}
	}
	return out
}

// realPath is a path absolute and without links, as far as it is there.
func realPath(p string) string {
	abs, err := filepath.Abs(p)
	if err != nil {
		return filepath.Clean(p)
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return abs
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// hold reports whether a path without links is one of them or below one.
func (e exclusions) hold(path string) bool {
	if disk.InHome(path) {
		return true
	}
	for _, x := range e {
		if disk.Within(path, x.path) {
			return true
		}
	}
	return false
}

// are reports whether a file or folder is one of them.
func (e exclusions) are(info fs.FileInfo) bool { return isOne(info, e.infos()) }

// infos are those of them that are there.
func (e exclusions) infos() (there []fs.FileInfo) {
	for _, x := range e {
		if info, err := os.Stat(x.path); err == nil {
			there = append(there, info)
		}
	}
	return there
}

func isOne(info fs.FileInfo, of []fs.FileInfo) bool {
	return slices.ContainsFunc(of, func(one fs.FileInfo) bool { return os.SameFile(one, info) })
}

// errFound ends a walk.
var errFound = errors.New("found")

// link reports whether a file is another name of one in them. It is only looked for where a file has several names.
func (e exclusions) link(info fs.FileInfo) bool {
	if len(e) == 0 || links(info) == 1 {
		return false
	}
	left := maxExcluded
	for _, x := range e {
		err := filepath.WalkDir(x.path, func(_ string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return errFound // too many to tell: better refused than read
			}
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // what cannot be looked at cannot be compared, and the rest can
			}
			if own, err := d.Info(); err == nil && os.SameFile(own, info) {
				return errFound
			}
			return nil
		})
		if errors.Is(err, errFound) {
			return true
		}
	}
	return false
}

// surround reports whether a folder is one of them or inside one.
func (e exclusions) surround(dir string) bool {
	at := realPath(dir)
	if e.hold(at) { // if it held a folder around this one, it would hold this one, too
		return true
	}
	for there := e.infos(); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && isOne(info, there) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
