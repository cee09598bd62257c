package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"filippo.io/age"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
)

// AttestExt is how the file beside a capsule ends that holds somebody's word that they verified it.
const AttestExt = ".attest"

// OnWord has a capsule read shallowly, on the word in the file beside it.
func OnWord(h *Home, name string, o *capsule.ReadOptions) error {
	b, err := disk.ReadFile(name+AttestExt, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return perdure.WithHint(perdure.Missing("there is no "+name+AttestExt),
			"have somebody this home trusts write it with perdure verify --attest, or have it checked whole")
	}
	if err != nil {
		return err
	}
	o.Attestation = new(capsule.Attestation)
	if err := o.Attestation.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("%s: %w", name+AttestExt, err)
	}
	t, err := h.Trust()
	if err != nil {
		return err
	}
	o.Shallow, o.Trusted = true, func(k perdure.Key) bool { return t.Allows(k, perdure.MayAuthor, perdure.AnyScope) }
	return nil
}

// companions finds what a capsule file may need that lies beside it: its signatures, if they are detached, and the
// chunks of its set.
func companions(name string, o *capsule.ReadOptions) (done func() error, err error) {
	set, err := capsule.OpenSet(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	o.Chunks = set
	sig, err := capsule.SignaturesOf(name, disk.Open, *o)
	switch {
	case err == nil:
		o.Signatures = sig
		return func() error { return errors.Join(sig.Close(), set.Close()) }, nil
	case errors.Is(err, fs.ErrNotExist):
		return set.Close, nil
	}
	return nil, errors.Join(err, set.Close())
}

// isCapsule tells a capsule from entries one after the other by how the file begins. Whatever is neither is read as a
// capsule, which says what is wrong.
func isCapsule(name string) (bool, error) {
	f, err := disk.Open(name)
	if err != nil {
		return false, err
	}
	first := make([]byte, 10)
	n, err := io.ReadFull(f, first)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // a short file is judged by what it has
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	const mapMajor = 5 // of CBOR, in which an entry is a map
	first = first[:n]
	entry := n > 0 && first[0]>>5 == mapMajor || bytes.HasPrefix(first, []byte(`{"body"`)) ||
		bytes.HasPrefix(first, []byte(`{"header"`))
	return !entry, nil
}

// OpenCapsule opens a capsule file; close it by calling done.
func OpenCapsule(name string, ids []age.Identity) (r *capsule.Reader, done func() error, err error) {
	return openWith(name, capsule.ReadOptions{Identities: ids})
}

// openWith is OpenCapsule with options.
func openWith(name string, o capsule.ReadOptions) (r *capsule.Reader, done func() error, err error) {
	return openMetered(name, o, new(Meter))
}

// openMetered is openWith for those who want to know how far it has been read.
func openMetered(name string, o capsule.ReadOptions, m *Meter) (r *capsule.Reader, done func() error, err error) {
	f, err := disk.Open(name)
	if err != nil {
		return nil, nil, err
	}
	besides, err := companions(name, &o)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	done = func() error { return errors.Join(f.Close(), besides()) }
	if r, err = capsule.NewReader(m.Of(f), o); err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return r, done, nil
}
