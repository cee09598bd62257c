package keyfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/seal"
)

// Vault is a seal.Vault in a folder that only its owner can read: one file per subject, named by a hash of it.
type Vault string

var (
	_ seal.Vault = Vault("")
)

// erasedMark is what is left of an erased key.
const erasedMark = "erased\n"

// Key implements seal.Vault.
func (v Vault) Key(subject string) ([32]byte, error) {
	var key [32]byte
	b, err := os.ReadFile(v.path(subject))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return v.create(subject)
	case err != nil:
		return key, fmt.Errorf("read vault: %w", err)
	case string(b) == erasedMark:
		return key, seal.ErrErased
	case len(b) != len(key):
		return key, fmt.Errorf("vault file %s has %d bytes, want %d: restore it from a backup",
			v.path(subject), len(b), len(key))
	}
	return [32]byte(b), nil
}

// Knows implements seal.Vault.
func (v Vault) Knows(subject string) (bool, error) {
	_, err := os.Lstat(v.path(subject))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (v Vault) path(subject string) string {
	return filepath.Join(string(v), perdure.HashOf([]byte(subject)).String())
}

// create makes a key, unless another process is first.
func (v Vault) create(subject string) ([32]byte, error) {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return key, fmt.Errorf("make a vault key: %w", err)
	}
	if err := os.MkdirAll(string(v), 0o700); err != nil {
		return key, fmt.Errorf("make a vault: %w", err)
	}
	temp, err := v.write(key[:])
	if err != nil {
		return key, err
	}
	defer func() { _ = disk.Remove(temp) }()
	if err := disk.Link(temp, v.path(subject)); errors.Is(err, fs.ErrExist) {
		return v.Key(subject)
	} else if err != nil {
		return key, fmt.Errorf("make a vault key: %w", err)
	}
	return key, disk.Sync(string(v))
}

// Erase implements seal.Vault. The file is overwritten before it is replaced; what a disk keeps beside files is
// beyond it.
func (v Vault) Erase(subject string) error {
	if err := os.MkdirAll(string(v), 0o700); err != nil {
		return fmt.Errorf("erase %s: %w", subject, err)
	}
	if f, err := os.OpenFile(v.path(subject), os.O_WRONLY, 0); err == nil {
		_, werr := f.Write(make([]byte, 32))
		if err := errors.Join(werr, f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("erase %s: %w", subject, err)
		}
	}
	temp, err := v.write([]byte(erasedMark))
	if err != nil {
		return err
	}
	if err := disk.Rename(temp, v.path(subject)); err != nil {
		return fmt.Errorf("erase %s: %w", subject, errors.Join(err, disk.Remove(temp)))
	}
	return disk.Sync(string(v))
}

// write writes a durable file under a name nobody looks for.
func (v Vault) write(b []byte) (string, error) {
	path := filepath.Join(string(v), ".new-"+rand.Text())
	if err := disk.Write(path, b, 0o600); err != nil {
		return "", fmt.Errorf("write vault: %w", err)
	}
	if err := disk.Sync(path); err != nil {
		return "", fmt.Errorf("write vault: %w", errors.Join(err, disk.Remove(path)))
	}
	return path, nil
}
