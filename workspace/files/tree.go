package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/workspace"
)

// tree is the files of a folder.
type tree struct {
	root disk.Root
	late func(file string) // for tests: the moment before a file is replaced or taken away
	mid  func(file string) // for tests: the moment after a file was looked at, before it is read
}

// errChanged says that somebody changed a file between the moment it was read and the moment it was to be replaced.
var errChanged = errors.New("it was changed meanwhile")

// errText says that a file holds no text that can be a document.
var errText = errors.New("it is no text")

// content is a file as it is.
type content struct {
	raw  []byte
	text string // as documents have it
	info fs.FileInfo
}

// normal is a text as documents have it: composed characters, line ends alone.
func normal(raw string) string {
	s := strings.TrimPrefix(raw, "\ufeff")
	return norm.NFC.String(strings.ReplaceAll(s, "\r\n", "\n"))
}

// read is what a file holds; nil if there is none.
func (t *tree) read(file string) (*content, error) {
	info, err := t.root.Lstat(file)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := disk.Regular(file, info); err != nil {
		return nil, fmt.Errorf("%w: %w", errText, err)
	}
	if t.mid != nil {
		t.mid(file)
	}
	f, err := t.root.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // an editor is about to give it its name again
	}
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, workspace.MaxText+1))
	if err == nil { // somebody may have written it since it was looked at
		info, err = f.Stat()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	switch {
	case len(raw) > workspace.MaxText:
		return nil, fmt.Errorf("%w: it is longer than %d bytes", errText, workspace.MaxText)
	case !utf8.Valid(raw):
		return nil, fmt.Errorf("%w: it is not UTF-8", errText)
	}
	return &content{raw, normal(string(raw)), info}, nil
}

// lacks reports whether there is nothing by the name of a file.
func (t *tree) lacks(file string) bool {
	_, err := t.root.Lstat(file)
	return absent(err)
}

// absent reports whether an error says that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) // a file is where its folder was
}

// walk calls f with every file that may be a document, part with every one that a killed process was
// writing, and link with every symbolic link, which is never followed.
func (t *tree) walk(f, part, link func(file string)) error {
	return fs.WalkDir(t.root.FS(), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && file != ".":
			return nil // it is gone, or not for us: reading it says so
		case err != nil || file == ".":
			return err
		case d.IsDir() && hidden(file):
			return fs.SkipDir
		case d.IsDir():
		case isPart(file):
			part(file)
		case hidden(file):
		case d.Type()&fs.ModeSymlink != 0:
			link(file)
		default:
			f(file)
		}
		return nil
	})
}

// prepare writes a text into the part of a file, durably.
func (t *tree) prepare(file, text string, perm fs.FileMode) (part string, err error) {
	if dir := path.Dir(file); dir != "." {
		if err := t.root.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	part = partOf(file)
	f, err := t.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return "", err
	}
	if _, err = io.WriteString(f, text); err == nil {
		err = f.Sync()
	}
	return part, errors.Join(err, f.Close())
}

// create makes a file that is not there, durably. One that somebody else makes first stays: then the error is
// errChanged.
func (t *tree) create(file, text string) error {
	return errors.Join(t.begin(file, text), t.root.Sync(path.Dir(file)))
}

// begin is create, whose name is durable once its folder is synced.
func (t *tree) begin(file, text string) error {
	part, err := t.prepare(file, text, disk.ModeIn(t.root.Name()))
	if err != nil {
		return err
	}
	if err = t.name(part, file); errors.Is(err, errChanged) {
		err = errors.Join(err, t.root.Remove(part))
	}
	return err
}

// name gives a part the name of its file, if there is no file of that name; else the error is errChanged, and the part
// stays.
func (t *tree) name(part, file string) error {
	err := t.root.Link(part, file)
	switch {
	case err == nil:
		err = t.root.Remove(part)
	case errors.Is(err, fs.ErrExist):
		err = errChanged
	default: // a file system without links
		if _, there := t.root.Lstat(file); !errors.Is(there, fs.ErrNotExist) {
			return errChanged
		}
		err = t.root.Rename(part, file)
	}
	return err
}

// replace puts a text in the place of what a file held when it was read. If somebody changes it meanwhile, the file is
// theirs, the same one that an editor may still be writing to, and the error is errChanged; or even that was too late,
// and what they wrote is returned: it is in the part of the file until drop is called.
func (t *tree) replace(file string, was *content, text string) (theirs *content, err error) {
	part, err := t.prepare(file, text, was.info.Mode().Perm())
	if err != nil {
		return nil, err
	}
	now, err := t.read(file)
	if err != nil || now == nil || !bytes.Equal(now.raw, was.raw) {
		return nil, errors.Join(errChanged, t.root.Remove(part))
	}
	t.before(file)
	err = t.root.Exchange(part, file)
	if errors.Is(err, errors.ErrUnsupported) {
		if err = t.root.Rename(part, file); err == nil {
			err = t.root.Sync(path.Dir(file))
		}
		return nil, err
	}
	if err != nil {
		return nil, errors.Join(err, t.root.Remove(part))
	}
	if err := t.root.Sync(path.Dir(file)); err != nil {
		return nil, err
	}
	if theirs, err = t.read(part); err == nil && theirs != nil && bytes.Equal(theirs.raw, was.raw) {
		return nil, t.drop(file)
	}
	if err := errors.Join(t.root.Exchange(part, file), t.root.Sync(path.Dir(file))); err != nil {
		return nil, err
	}
	if theirs, err = t.read(part); err == nil && theirs != nil && string(theirs.raw) != text {
		return theirs, nil
	}
	return nil, errors.Join(errChanged, t.drop(file))
}

// remove takes a file away that holds what it held when it was read; else see replace.
func (t *tree) remove(file string, was *content) (theirs *content, err error) {
	part := partOf(file)
	t.before(file)
	if err := t.root.Rename(file, part); err != nil {
		return nil, err
	}
	theirs, err = t.read(part)
	if err != nil || theirs == nil || !bytes.Equal(theirs.raw, was.raw) {
		if back := t.name(part, file); back == nil {
			return nil, errors.Join(errChanged, t.root.Sync(path.Dir(file)))
		}
		return theirs, err
	}
	err = errors.Join(t.drop(file), t.root.Sync(path.Dir(file)))
	for dir := path.Dir(file); dir != "." && err == nil; dir = path.Dir(dir) {
		if t.root.Remove(dir) != nil {
			break // something else is in it
		}
	}
	return nil, err
}

func (t *tree) before(file string) {
	if t.late != nil {
		t.late(file)
	}
}

// drop takes the part of a file away.
func (t *tree) drop(file string) error {
	if err := t.root.Remove(partOf(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
