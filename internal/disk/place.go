package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/perdure/perdure/internal/entropy"
)

// where is what the file of a place says.
type where struct {
	id     [32]byte
	known  [][32]byte // the ids it has had; of those that are not id it is a copy
	spaces bool       // there is room to note one more
}

// whereIs reads the file of a place. The id is one that a copy of the file does not have: the hash of random bytes in
// it, and of what the file system itself knows the file by, its number and the moment it was made. Whoever copies the
// file, restores it or carries it to another machine has another place; whoever gives it another name on the same disk
// has not.
func whereIs(path string) (at where, err error) {
	f, err := Open(path)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, placeBytes*(1+maxKnown)))
	if err != nil {
		return at, err
	}
	if len(b) < placeBytes {
		return at, fmt.Errorf("%w: %s has %d bytes, want %d", ErrPlace, path, len(b), placeBytes)
	}
	for known := range slices.Chunk(b[placeBytes:], placeBytes) {
		if len(known) == placeBytes { // else it was cut off while it was noted
			at.known = append(at.known, [32]byte(known))
		}
	}
	at.spaces = len(at.known) < maxKnown
	number, born, err := birth(f)
	if err != nil {
		return at, err
	}
	h := binary.BigEndian.AppendUint64(append([]byte("perdure-place\x00"), b[:placeBytes]...), number)
	at.id = sha256.Sum256(binary.BigEndian.AppendUint64(h, uint64(born)))
	return at, nil
}

// note adds the id to the file, in its place, so that a copy of the file knows what it is a copy of. All who do so at
// once write the same. Where it cannot be written, a copy does not know, and all else is as it was.
func (at *where) note(path string) {
	if slices.Contains(at.known, at.id) || !at.spaces {
		return
	}
	f, err := OpenPlain(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	if _, err = f.WriteAt(at.id[:], int64(placeBytes*(1+len(at.known)))); err == nil {
		_ = f.Sync()
	}
	_ = f.Close()
}

// ErrPlace says that the file of a place is damaged. Whoever removes it gets a new place, as a copy does: the agents
// have their seat at the old one.
var ErrPlace = errors.New("what tells this store from its copies is damaged")

// Place is the id of a place, and those of the places it is a copy of; the zero id if there is none and nothing is to
// be written. One that is made, with a mode, for something of which there says that it was there before is a copy of
// Unknown.
func Place[ID ~[32]byte](path string, mode fs.FileMode, looks bool, there func() (bool, error)) (id ID, copyOf []ID,
	err error) {
	if !looks {
		if err := makePlace(path, mode, there); err != nil {
			return id, nil, err
		}
	}
	at, err := whereIs(path)
	switch {
	case looks && errors.Is(err, fs.ErrNotExist):
		return id, nil, nil
	case err == nil && !looks:
		at.note(path)
	}
	for _, known := range at.known {
		if known != at.id {
			copyOf = append(copyOf, known)
		}
	}
	return at.id, copyOf, err
}

// Unknown is the place that something is a copy of which was there before it had a place.
var Unknown = [32]byte(slices.Repeat([]byte{0xff}, placeBytes))

const (
	placeBytes = 32 // how many random bytes a place has
	maxKnown   = 64 // how many ids are kept: a copy of a copy of a copy
)

// makePlace makes the file of a place, durably, unless there is one.
func makePlace(path string, mode fs.FileMode, there func() (bool, error)) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	seed := make([]byte, placeBytes)
	if _, err := entropy.Reader.Read(seed); err != nil {
		return err
	}
	if was, err := there(); err != nil {
		return err
	} else if was {
		seed = append(seed, Unknown[:]...)
	}
	if err := WriteNew(path, seed, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // another process was first
}
