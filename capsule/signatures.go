package capsule

import (
	"errors"
	"io/fs"
	"os"
)

// A capsule and its detached signatures are two files, and no system replaces two at once. So the signatures are
// written first, under a name of their own; then the capsule takes its name, and then they take theirs. Whatever
// interrupts that leaves a capsule beside signatures that are its own: those under their name, or those staged.

// StagedExt is what the name of a file of signatures has after it until the capsule has its name.
const StagedExt = ".new"

// SignaturesOf opens the detached signatures of a capsule file, which open opens by name: those that were staged, if
// they are the signatures of this capsule, else those under their name. The error wraps fs.ErrNotExist if there are
// none. O is how the capsule is read.
func SignaturesOf(name string, open func(name string) (*os.File, error), o ReadOptions) (*os.File, error) {
	staged, err := open(name + SigExt + StagedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return open(name + SigExt)
	}
	if err != nil {
		return nil, err
	}
	capsule, err := open(name)
	if err != nil {
		return nil, errors.Join(err, staged.Close())
	}
	o.Signatures, o.Shallow, o.Attestation = staged, false, nil
	r, err := NewReader(capsule, o)
	fits := err == nil
	if fits {
		for _, err := range r.Entries() {
			fits = fits && err == nil
		}
	}
	if err := errors.Join(capsule.Close(), staged.Close()); err != nil {
		return nil, err
	}
	if fits {
		return open(name + SigExt + StagedExt)
	}
	return open(name + SigExt)
}
