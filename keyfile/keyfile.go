// Package keyfile keeps what must stay secret in files that only their owner can read: the key that signs, and a vault.
package keyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Write writes the private key of a generated signer to a new file that only its owner can read, durably and whole, or
// writes none. It never overwrites one: then the error wraps fs.ErrExist.
func Write(path string, s *perdure.Signer) error {
	text, err := s.PrivateText()
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	if err := disk.WriteNew(path, []byte(text+"\n"), 0o600); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}

// maxFile bounds what is read of a key file, which is one line.
const maxFile = 64 << 10

// Read reads a private key file. It refuses one that others can read. Where there is none the error wraps
// perdure.ErrNotFound.
func Read(path string) (*perdure.Signer, error) {
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("key file %s: %w: make one with `perdure key new`", path, perdure.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()            // of what is read, whatever has the name by now
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("key file %s can be read by others (mode %04o): run `chmod 600 %s`", path, mode, path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	s, err := perdure.ParseSigner(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, perdure.WithHint(fmt.Errorf("key file %s is damaged: %w", path, err),
			"restore it from a backup")
	}
	return s, nil
}
