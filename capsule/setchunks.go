package capsule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/disk"
)

// each calls f with every chunk of the set and the size of its record.
func (s *Set) each(ctx context.Context, f func(name perdure.Hash, size int64) error) error {
	err := fs.WalkDir(s.root.FS(), chunkDir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || d.IsDir() || isTemp(d.Name()) {
			return err
		}
		name, err := perdure.ParseHash(path.Base(path.Dir(p)) + path.Base(p))
		if err != nil {
			return reject(PredName, 0, "$", fmt.Sprintf("%.80q", p), "a chunk under its name")
		}
		info, err := d.Info()
		if err == nil {
			err = checkRegular(p, info)
		}
		if err != nil {
			return err
		}
		return f(name, info.Size())
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no large bodies, no chunks
	}
	return err
}

// Verify checks every chunk of the set against its name and returns how many there are.
func (s *Set) Verify(ctx context.Context) (chunks int, err error) {
	err = s.each(ctx, func(name perdure.Hash, _ int64) error {
		rec, err := s.Chunk(name)
		if err != nil {
			return err
		}
		var k chunkRecord
		if err := chunkCodec.Decode(rec, &k, canon.Limits{}); err != nil {
			return err
		}
		_, err = chunkRef{name, k.Size}.unpacked(rec, 0)
		chunks++
		return err
	})
	if err != nil {
		return chunks, fmt.Errorf("verify set: %w", err)
	}
	return chunks, nil
}

// Collected is what Collect found that no capsule of a set refers to.
type Collected struct {
	Chunks int   // how many went
	Bytes  int64 // of their files
	Kept   int   // how many are still referred to
}

// Collect removes the chunks that no capsule of the set refers to any more, and what writers that were killed left
// unfinished; dry only counts. It reads every capsule first and removes nothing when one cannot be read: nobody knows
// which chunks that needs.
func (s *Set) Collect(ctx context.Context, dry bool) (c Collected, err error) {
	unlock, err := s.lock()
	if err != nil {
		return c, fmt.Errorf("collect chunks: %w", err)
	}
	defer unlock()
	asked := &asking{set: s, names: map[perdure.Hash]bool{}}
	for name, err := range s.Names() {
		if err == nil {
			err = s.ask(ctx, name, asked)
		}
		if err != nil {
			return c, fmt.Errorf("collect chunks: %s cannot be read, so nothing was removed: %w", name, err)
		}
	}
	err = s.each(ctx, func(name perdure.Hash, size int64) error {
		if asked.names[name] {
			c.Kept++
			return nil
		}
		c.Chunks, c.Bytes = c.Chunks+1, c.Bytes+size
		if dry {
			return nil
		}
		return s.root.Remove(chunkPath(name))
	})
	if err == nil && !dry {
		err = s.sweep()
	}
	if err != nil {
		return c, fmt.Errorf("collect chunks: %w", err)
	}
	return c, nil
}

// asking notes which chunks a reader asks for.
type asking struct {
	set   *Set
	names map[perdure.Hash]bool
}

func (a *asking) Chunk(name perdure.Hash) ([]byte, error) {
	a.names[name] = true
	return a.set.Chunk(name)
}

func (a *asking) PutChunk(perdure.Hash, []byte) error { return errors.ErrUnsupported }

// ask reads a capsule. Its signatures do not matter here.
func (s *Set) ask(ctx context.Context, name string, chunks Chunks) error {
	o := ReadOptions{Chunks: chunks, Shallow: true, Local: true, MaxBytes: DefaultMaxBytes} // nothing is kept
	f, done, err := s.open(name, &o)
	if err != nil {
		return err
	}
	defer done()
	r, err := NewReader(f, o)
	if err != nil {
		return err
	}
	for _, err := range r.Entries() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isTemp reports whether a file is one that a writer has not finished.
func isTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempExt)
}

// sweep removes what writers that were killed left unfinished. The set is locked: nobody writes.
func (s *Set) sweep() error {
	return fs.WalkDir(s.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isTemp(d.Name()) {
			return err
		}
		return s.root.Remove(p)
	})
}

// lock keeps others from writing to the set until unlock is called.
func (s *Set) lock() (unlock func(), err error) {
	f, err := s.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(f, true); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing gives the lock back
}
