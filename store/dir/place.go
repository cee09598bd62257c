package dir

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Place implements perdure.Placed. What tells the folder from its copies is a file that git and Syncthing leave alone.
func (s *Store) Place(ctx context.Context) (at perdure.Place, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return at, err
	}
	return Place(s.dir, s.looks)
}

// Place is the place of a folder. Where it has none and nothing is to be written, its id is zero.
func Place(dir string, look bool) (at perdure.Place, err error) {
	path := PlaceFile(dir)
	fresh := func() (bool, error) { return false, nil } // what was dropped there may be meant for it
	at.ID, at.CopyOf, err = disk.Place[perdure.Hash](path, disk.ModeIn(filepath.Dir(path)), look, fresh)
	return at, err
}

// PlaceFile is the file that tells a folder from its copies.
func PlaceFile(dir string) string { return filepath.Join(dir, indexDir, "place") }

// copyPlace copies what tells the folder from its copies: so the copy knows what it is a copy of.
func (s *Store) copyPlace(path string) error {
	if _, err := Place(s.dir, s.looks); err != nil {
		return err
	}
	b, err := disk.ReadFile(PlaceFile(s.dir), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was opened only to look at, and nobody has worked in it
	}
	if err == nil {
		err = disk.Write(PlaceFile(path), b, 0o600)
	}
	return err
}
