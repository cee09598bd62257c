package home

import (
	"errors"
	"os"

	"github.com/perdure/perdure/internal/disk"
)

// attendFile is the file whose lock the process has that runs the agents of this home's store.
func (h *Home) attendFile() string {
	if h.Scheme == "dir" || h.remote != "" { // it is shared with others, and other machines
		return h.beside("-node")
	}
	return h.File + "-node"
}

// Attend makes this process the one that runs the agents of the store, until it leaves or ends. It is false where
// another is: nodes do not need it, and several may run at once, but a process that would only run them if nobody else
// does asks here first.
func (h *Home) Attend() (leave func() error, ok bool, err error) {
	if h.Dir == "" {
		return func() error { return nil }, true, nil
	}
	file, err := os.OpenFile(h.attendFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	switch err := disk.Lock(file, false); {
	case errors.Is(err, disk.ErrLocked):
		return nil, false, file.Close()
	case err != nil:
		return nil, false, errors.Join(err, file.Close())
	}
	return file.Close, true, nil // the file stays: whoever removes it could remove that of another
}
