package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/internal/entropy"
)

// place is an id that a copy of a file does not have: the hash of random bytes in it, and of what the file system
// itself knows the file by, its number and the moment it was made. Whoever copies the file, restores it or carries it
// to another machine has another place; whoever gives it another name on the same disk has not.
func place(path string) (id [32]byte, err error) {
	f, err := Open(path)
	if err != nil {
		return id, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	seed := make([]byte, placeBytes+1)
	n, err := f.Read(seed)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return id, err
	}
	if n != placeBytes {
		return id, fmt.Errorf("%w: %s has %d bytes, want %d", ErrPlace, path, n, placeBytes)
	}
	number, born, err := birth(f)
	if err != nil {
		return id, err
	}
	b := binary.BigEndian.AppendUint64(append([]byte("perdure-place\x00"), seed[:n]...), number)
	return sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(born))), nil
}

// ErrPlace says that the file of a place is damaged. Whoever removes it gets a new place, as a copy does: the agents
// have their seat at the old one.
var ErrPlace = errors.New("what tells this store from its copies is damaged")

// Place is the id of a place; the zero id if there is none and nothing is to be written.
func Place(path string, looks bool) (id [32]byte, err error) {
	if !looks {
		if err := makePlace(path); err != nil {
			return id, err
		}
	}
	id, err = place(path)
	if looks && errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return id, err
}

// placeBytes is how many random bytes a place has.
const placeBytes = 32

// makePlace makes the file of a place, durably, unless there is one.
func makePlace(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	seed := make([]byte, placeBytes)
	if _, err := entropy.Reader.Read(seed); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.new-%08x", path, rand.Uint32())
	if err := Write(temp, seed, ModeIn(filepath.Dir(path))); err != nil {
		return err
	}
	err := Sync(temp)
	if err == nil {
		err = Link(temp, path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil // another process was first
	} else if err != nil { // a file system without links
		if err = Write(path, seed, ModeIn(filepath.Dir(path))); errors.Is(err, fs.ErrExist) {
			err = nil
		}
		err = errors.Join(err, Sync(path))
	}
	return errors.Join(err, Remove(temp), Sync(filepath.Dir(path)))
}
