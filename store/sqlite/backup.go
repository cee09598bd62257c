package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Backup writes a consistent copy of the store to a path that does not exist yet: the store as of one moment after the
// call began; others write on meanwhile. What a killed backup to the same path left is removed.
func (s *Store) Backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err == nil {
		err = s.usable(ctx)
	}
	for range 3 { // bodies pruned while they are copied make a copy useless
		if err == nil {
			err = s.backup(ctx, path)
		}
		if !errors.Is(err, errChanged) {
			break
		}
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("back up %s to %s: %w", s.path, path, err)
	}
	return nil
}

var errChanged = errors.New("it was written to while it was copied: try again")

func (s *Store) backup(ctx context.Context, path string) (err error) {
	if err := vacant(path); err != nil {
		return err
	}
	r, err := disk.Reserve(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Release()) }()
	if err := vacant(path); err != nil { // somebody else may just have made it
		return err
	}
	if r.Left { // the bodies have their name before the file has
		if err := os.RemoveAll(folderOf(path)); err != nil {
			return err
		}
	} else if err := vacant(folderOf(path)); err != nil {
		return err
	}
	temp := r.Temp
	if err := s.copyInto(temp); err != nil {
		return err
	}
	if err := setApart(temp); err != nil {
		return err
	}
	hashes, err := blobsOf(temp)
	if err != nil {
		return err
	}
	for _, h := range hashes {
		if err := ctx.Err(); err != nil {
			return err
		}
		body, err := os.ReadFile(blobPath(s.path, h))
		if errors.Is(err, fs.ErrNotExist) {
			return errChanged
		}
		if err == nil {
			err = writeBlob(temp, h, body)
		}
		if err != nil {
			return err
		}
	}
	if len(hashes) > 0 {
		if err := errors.Join(disk.Sync(folderOf(temp)), disk.Rename(folderOf(temp), folderOf(path))); err != nil {
			return err
		}
	}
	return errors.Join(disk.Sync(temp), place(temp, path), disk.Sync(filepath.Dir(path)))
}

// copyInto writes what is in the file to another. Nothing is written beside the file of a store that was opened to look
// at: its disk may be full.
func (s *Store) copyInto(temp string) error {
	return retry(func() error {
		c, err := s.dialReader()
		if err != nil {
			return err
		}
		if err = os.RemoveAll(temp); err == nil {
			err = reserve(temp)
		}
		if err == nil {
			err = c.exec("PRAGMA query_only=OFF")
		}
		if err == nil {
			err = c.exec("VACUUM INTO ?", temp)
		}
		if err == nil && c.stale() {
			err = errChanged
		}
		return errors.Join(err, c.close())
	})
}

// vacant refuses a path at which there is something.
func vacant(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%s is there already: a backup overwrites nothing", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// setApart makes a copy a store of its own. It takes the id of the feed out: the store goes on with it, and the copy,
// once restored, would give the same positions to other entries.
func setApart(path string) error {
	c, err := dial(path, "rw")
	if err != nil {
		return err
	}
	return errors.Join(endFeed(c), c.close())
}

// blobsOf lists the bodies that a store nobody uses refers to.
func blobsOf(path string) (hashes []perdure.Hash, err error) {
	c, err := dial(path, "ro")
	if err != nil {
		return nil, err
	}
	err = c.query("SELECT DISTINCT hash FROM blobs", func(v []driver.Value) error {
		b, _ := v[0].([]byte)
		var h perdure.Hash
		copy(h[:], b)
		hashes = append(hashes, h)
		return nil
	})
	return hashes, errors.Join(err, c.close())
}
