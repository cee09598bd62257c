package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange gives two files of a folder each other's names, in one step.
func exchange(dir *os.File, name, to string) error {
	fd := int(dir.Fd())
	err := unix.Renameat2(fd, name, fd, to, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return errors.ErrUnsupported // of this file system, or of an old kernel
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: name, New: to, Err: err}
	}
	return nil
}
