package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// content is what is to be written.
func (a *writeArgs) content() ([]byte, error) {
	b := a.Bytes
	switch {
	case (a.Text == nil) == (a.Bytes == nil):
		return nil, errors.New("fields text and bytes: give one of them")
	case a.Text != nil:
		b = []byte(*a.Text)
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("%d bytes are more than one call may write, %d; write the file in parts", len(b),
			MaxFile)
	}
	return b, nil
}

// changeable is allowed for what is to be changed. What git keeps is not: its settings and hooks name programs, which
// run as whoever uses git there next, and nobody was asked about those.
func (f files) changeable(name string, itself bool) error {
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Join(f.dir, filepath.FromSlash(name))), "/") {
		if part = strings.ToLower(part); part == ".git" || part == "git~1" {
			return fmt.Errorf("%s is git's: such files name programs that git runs, so no tool for files writes them",
				name)
		}
	}
	return f.allowed(name, itself)
}

// target checks the path and the content of a file to be written, and makes the folders on the way.
func (f files) target(a *writeArgs) (name string, b []byte, err error) {
	name = a.Path
	if err = f.changeable(name, false); err != nil {
		return "", nil, err
	}
	if name == "." {
		return "", nil, errors.New("field path: name a file")
	}
	if b, err = a.content(); err != nil {
		return "", nil, err
	}
	if info, err := f.root.Stat(name); err == nil && !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is a %s, not a file", name, kindOf(info.Mode()))
	}
	if dir := path.Dir(name); dir != "." {
		if err := f.root.MkdirAll(dir, 0o777); err != nil {
			return "", nil, err
		}
	}
	return name, b, nil
}

// write puts the content beside the file and then in its place, so that whoever looks sees the old content or the new.
// A process that dies on the way may leave the file beside it, which ends in .tmp.
func (f files) write(_ context.Context, a writeArgs) (map[string]any, error) {
	name, b, err := f.target(&a)
	if err != nil {
		return nil, err
	}
	tmp := path.Join(path.Dir(name), "."+rand.Text()+".tmp")
	file, err := f.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	if info, statErr := f.root.Stat(name); statErr == nil {
		err = file.Chmod(info.Mode().Perm()) // as the file had it
	}
	if err == nil {
		_, err = file.Write(b)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = f.root.Rename(tmp, name)
	}
	if err != nil {
		return nil, errors.Join(err, f.root.Remove(tmp))
	}
	return map[string]any{"size": len(b)}, f.syncDir(name)
}

// syncDir makes the names in the folder of a file durable.
func (f files) syncDir(name string) error {
	dir, err := f.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (f files) append(_ context.Context, a writeArgs) (map[string]any, error) {
	name, b, err := f.target(&a)
	if err != nil {
		return nil, err
	}
	file, info, err := f.open(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if links(info) > 1 { // git's may be another, see changeable
		return nil, errors.Join(fmt.Errorf("%s has another name, too, a hard link: write it whole, which leaves "+
			"the other as it is", name), file.Close())
	}
	n, err := file.Write(b)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil && n > 0 {
		return nil, inDoubt("%d of %d bytes were added to %s, and then: %v", n, len(b), name, err)
	} else if err != nil {
		return nil, err
	}
	return map[string]any{"size": info.Size() + int64(len(b))}, f.syncDir(name)
}

func (f files) remove(_ context.Context, a pathArgs) (map[string]any, error) {
	name := a.Path
	if err := f.changeable(name, true); err != nil {
		return nil, err
	}
	if name == "." {
		return nil, errors.New("field path: the folder of the tool itself is not removed")
	}
	err := f.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{"removed": false}, nil
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"removed": true}, f.syncDir(name)
}
