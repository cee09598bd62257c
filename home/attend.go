package home

import (
	"errors"
	"io"
	"os"

	"github.com/perdure/perdure"
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
func (h *Home) Attend() (leave func() error, ok bool, err error) { return h.attend(perdure.Hash{}) }

// attend is Attend of a process that goes by a policy, as it says in the file; zero: it does not say.
func (h *Home) attend(policy perdure.Hash) (leave func() error, ok bool, err error) {
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
	text := ""
	if !policy.IsZero() {
		text = policy.String()
	}
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteString(text)
	}
	if err != nil {
		return nil, false, errors.Join(err, file.Close())
	}
	return file.Close, true, nil // the file stays: whoever removes it could remove that of another
}

// attendedBy is the policy that the process goes by which runs the agents of the store now; zero: none does, or it does
// not say.
func (h *Home) attendedBy() (policy perdure.Hash) {
	if h.Dir == "" {
		return policy
	}
	file, err := os.OpenFile(h.attendFile(), os.O_RDWR, 0)
	if err != nil {
		return policy
	}
	defer func() { _ = file.Close() }() // it was only read
	if !errors.Is(disk.Lock(file, false), disk.ErrLocked) {
		return policy
	}
	text, err := io.ReadAll(io.LimitReader(file, 128))
	if err != nil || policy.UnmarshalText(text) != nil {
		return perdure.Hash{}
	}
	return policy
}
