package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Open opens a regular file to read. A pipe, a device, a socket or a folder is refused: reading it could wait for ever,
// never end, or do something. The file that was opened is looked at again, so that nobody gains by exchanging it in
// between.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil { // else opening says what is wrong
		if err := Regular(path, info); err != nil {
			return nil, err // to open some devices is to act on them
		}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = Regular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenPlain is OpenFile for a file in a folder that others may put things into: a link is not followed, and what is not
// a regular file is refused at once, whatever opening it would do.
func OpenPlain(path string, flag int, perm fs.FileMode) (File, error) {
	if info, err := os.Lstat(path); err == nil { // else opening says what is wrong
		if err := Regular(path, info); err != nil {
			return nil, err
		}
	}
	f, err := OpenFile(path, flag|nonBlock|noFollow, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = Regular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a regular file of at most so many bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %d bytes", most)}
	}
	return b, errors.Join(err, f.Close())
}

// ModeIn is the mode of a new file in a folder: for its owner alone, unless others can write to the folder, which is
// then shared with them on purpose.
func ModeIn(dir string) fs.FileMode {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o022 == 0 {
		return 0o600
	}
	return info.Mode().Perm() & 0o666
}

// Regular refuses what is not a regular file.
func Regular(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeSymlink != 0:
		what = "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "something else"
	}
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: it is %s", ErrIrregular, what)}
}

// ErrIrregular says that something is not a regular file.
var ErrIrregular = errors.New("want a regular file")

// Files are the files of a folder whose names end in ext, in order, by their paths; none if there is no folder. It
// reads the folder itself: a pattern would take a [ in the path for one of its own.
func Files(dir, ext string) ([]string, error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range found {
		if filepath.Ext(f.Name()) == ext {
			paths = append(paths, filepath.Join(dir, f.Name()))
		}
	}
	return paths, nil
}
