package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool copies an input of at most so many bytes to a file, for what is read more than once. Remove takes it away.
func Spool(r io.Reader, most int64) (name string, remove func(), err error) {
	f, err := os.CreateTemp("", "perdure-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.Remove(f.Name()) } // a temporary file that stays does no harm
	n, err := io.Copy(f, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("standard input has more than %d bytes; name a file instead", most)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return f.Name(), remove, nil
}
