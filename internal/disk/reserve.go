package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// newMark is in the names of files and folders that do not have all of their content yet.
const newMark = ".new-"

// Reserved is a path that this process alone is making, until it is released.
type Reserved struct {
	Path string
	Temp string // where to make it; it is in the same folder, and beside it what begins with its name
	Left bool   // a process was killed that was making it
	lock *os.File
}

// Reserve takes a path for this process alone, and removes what a process left there that was killed while it was
// making it. What has the path itself is left alone.
func Reserve(path string) (*Reserved, error) {
	_, missing := os.Lstat(path + partExt)
	lock, err := openPart(path + partExt)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%s cannot be made: look whether its folder exists and this user may write there: %w", path,
			err)
	}
	if err != nil {
		return nil, err
	}
	r := &Reserved{Path: path, Temp: fmt.Sprintf("%s%s%08x", path, newMark, rand.Uint32()), Left: missing == nil,
		lock: lock}
	if err := r.clean(); err != nil {
		return nil, errors.Join(err, r.Release())
	}
	return r, nil
}

// Release gives the path up, and removes what is left of making it.
func (r *Reserved) Release() error {
	err := r.clean()
	if gone := os.Remove(r.lock.Name()); !errors.Is(gone, fs.ErrNotExist) { // under its lock: nobody else has it yet
		err = errors.Join(err, gone)
	}
	return errors.Join(err, r.lock.Close())
}

// ofNew is how the names go on of what is being made, and of what that is made from.
var ofNew = regexp.MustCompile(`^[0-9a-f]{8}(\.new-[0-9a-f]{8})?(-.*)?$`)

// clean removes what is unfinished.
func (r *Reserved) clean() error {
	dir, base := filepath.Split(r.Path)
	all, err := os.ReadDir(filepath.Clean(dir))
	for _, one := range all {
		if rest, is := strings.CutPrefix(one.Name(), base+newMark); is && ofNew.MatchString(rest) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, one.Name())))
		}
	}
	return err
}
