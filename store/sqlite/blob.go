package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// folder is where the bodies are that are too long for the file.
func (s *Store) folder() string { return folderOf(s.path) }

func folderOf(path string) string { return path + "-blobs" }

func blobPath(store string, hash perdure.Hash) string {
	return filepath.Join(folderOf(store), hash.String())
}

// writeBlobs makes the long bodies of entries durable, each in a file of its own, before anything refers to them.
func (s *Store) writeBlobs(ctx context.Context, entries []*perdure.Entry) ([]perdure.Hash, error) {
	var hashes []perdure.Hash
	for _, e := range entries {
		if len(e.BodyBytes()) <= perdure.InlineBody {
			continue
		}
		if err := s.usable(ctx); err != nil {
			return hashes, err
		}
		if err := writeBlob(s.path, e.Body, e.BodyBytes()); err != nil {
			return hashes, err
		}
		hashes = append(hashes, e.Body)
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	if err := synced(s.folder()); err != nil || s.rooted.Load() {
		return hashes, err
	}
	// Whoever made the folder may have been stopped before its name was durable, or may not have come so far yet.
	err := synced(filepath.Dir(s.path))
	s.rooted.Store(err == nil)
	return hashes, err
}

// writeBlob writes a body to its file, unless that is there. One whose content is another is as good as missing: the
// body takes its place. Its name is durable once the folder is.
func writeBlob(store string, hash perdure.Hash, body []byte) error {
	path := blobPath(store, hash)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(body)) {
		if there, err := os.ReadFile(path); err == nil && perdure.HashOf(there) == hash {
			return nil
		}
	}
	switch err := disk.Mkdir(filepath.Dir(path), 0o700); {
	case err == nil:
		if err := synced(filepath.Dir(store)); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	temp := fmt.Sprintf("%s%s%08x", path, tempMark, rand.Uint32())
	err := disk.Write(temp, body, 0o600)
	if err == nil {
		err = synced(temp)
	}
	if err == nil {
		err = disk.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write body %s: %w", hash.Short(), err), disk.Remove(temp))
	}
	return nil
}

// synced makes a file or folder durable. If that goes wrong, nobody can tell what is on the disk, and a later sync that
// goes right does not say that it is all there.
func synced(path string) error {
	if err := disk.Sync(path); err != nil {
		return brokenError{fmt.Errorf("sync %s: %w", path, err)}
	}
	return nil
}

// tempMark is in the names of files that do not have all of their content yet.
const tempMark = ".new-"

// keepBlob notes that the entry at a cursor refers to a body. The file may have been swept since it was written.
func (w *writer) keepBlob(e *perdure.Entry, at perdure.Cursor) error {
	err := writeBlob(w.path, e.Body, e.BodyBytes())
	if err == nil {
		err = synced(folderOf(w.path))
	}
	if err != nil {
		return brokenError{err}
	}
	return w.do("INSERT OR IGNORE INTO blobs VALUES(?,?)", e.Body[:], int64(at))
}

// readBlob reads a body from its file.
func (s *Store) readBlob(hash perdure.Hash, size int64) ([]byte, error) {
	path := blobPath(s.path, hash)
	info, err := os.Stat(path)
	if err == nil && info.Size() != size {
		err = fmt.Errorf("it has %d bytes, want %d", info.Size(), size)
	}
	var body []byte
	if err == nil {
		body, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("body %s: %w: restore %s from a backup", hash.Short(), err, s.folder())
	}
	return body, nil
}

const refers = "SELECT cursor FROM blobs WHERE hash=? LIMIT 1"

// sweep removes files of bodies that nothing refers to. Writers look for theirs under the same lock.
func (s *Store) sweep(ctx context.Context, hashes []perdure.Hash) error {
	return s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		removed := false
		for _, h := range hashes {
			_, used, err := w.number(refers, h[:])
			if err != nil {
				return brokenError{err}
			}
			if used {
				continue
			}
			switch err := disk.Remove(blobPath(w.path, h)); {
			case err == nil:
				removed = true
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
		if !removed {
			return nil
		}
		return synced(folderOf(w.path)) // or a power cut brings them back
	}})
}

// discard removes those bodies of a write that nothing refers to, and returns what the write failed with, if it did.
// After an error of the file it waits until that can be opened again, though not for long: the bodies may be what fills
// the disk.
func (s *Store) discard(ctx context.Context, failed error, hashes []perdure.Hash) error {
	var err error
	for begun := time.Now(); len(hashes) > 0; time.Sleep(firstReopen / 10) {
		err = s.sweep(context.WithoutCancel(ctx), hashes)
		if err == nil || failed == nil || s.usable(ctx) != nil || time.Since(begun) > 2*firstReopen {
			break
		}
	}
	if errors.Is(failed, err) { // it has been said
		return failed
	}
	return errors.Join(failed, err)
}

// Strays is how many bytes of long bodies lie here that nothing refers to, left by what was cut short; remove has them
// removed. What a live writer has just written is among them: it writes again what it does not find. Where something is
// damaged there are none: an entry that cannot be read may refer to them.
func (s *Store) Strays(ctx context.Context, remove bool) (size int64, err error) {
	files, err := os.ReadDir(s.folder())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	ill, aerr := s.Ailing(ctx)
	if err = errors.Join(err, aerr); err != nil || len(ill) > 0 {
		return 0, err
	}
	var strays []perdure.Hash
	err = s.read(ctx, func(c *conn) error {
		strays, size = strays[:0], 0 // what was read before may be void
		for _, f := range files {
			var h perdure.Hash
			info, err := f.Info()
			if err != nil || h.UnmarshalText([]byte(f.Name())) != nil {
				continue // it is gone, or no body
			}
			_, used, err := c.number(refers, h[:])
			if err != nil {
				return err
			}
			if !used {
				strays, size = append(strays, h), size+info.Size()
			}
		}
		return nil
	})
	if err == nil && remove && len(strays) > 0 {
		err = s.sweep(ctx, strays)
	}
	return size, err
}
