package capsule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/disk"
)

// Set is a folder of capsules that share the chunks of their large bodies: what many agents hold is there once.
//
//	NAME-ID.agent      a capsule
//	NAME-ID.agent.sig  its signatures, when they are detached
//	chunks/ab/cdef…    a chunk, under its name
type Set struct {
	root disk.Root
	dir  string

	importing sync.Mutex
	used      meter // what the capsules imported so far came to
}

var _ Chunks = (*Set)(nil)

const (
	chunkDir = "chunks"
	lockName = ".lock"
	tempExt  = ".tmp" // of what is not finished
)

// SigExt is what the name of a file of detached signatures has after that of its capsule.
const SigExt = ".sig"

// OpenSet opens the set in a folder, which it makes if there is none. Nothing outside the folder is read or written,
// whatever names and links are in it.
func OpenSet(dir string) (*Set, error) {
	if err := disk.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("open set: %w", err)
	}
	root, err := disk.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open set: %w", err)
	}
	return &Set{root: root, dir: dir}, nil
}

// Close ends the use of the set.
func (s *Set) Close() error { return s.root.Close() }

// Names yields the names of the capsules, in order. A name that ends like a capsule's but is no regular file is refused
// (capsule.name).
func (s *Set) Names() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		list, err := fs.ReadDir(s.root.FS(), ".")
		if err != nil {
			yield("", fmt.Errorf("list set: %w", err))
			return
		}
		for _, d := range list {
			if !strings.HasSuffix(d.Name(), Ext) || strings.HasPrefix(d.Name(), ".") {
				continue
			}
			info, err := d.Info()
			if err == nil {
				err = checkRegular(d.Name(), info)
			}
			if !yield(d.Name(), err) {
				return
			}
		}
	}
}

// File opens a file of the set by its name.
func (s *Set) File(name string) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	info, err := s.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if err := checkRegular(name, info); err != nil {
		return nil, err
	}
	return s.root.Open(name)
}

// SetOptions say how to export agents into a set.
type SetOptions struct {
	Options
	Sign *perdure.Signer // bind with one signature over all agents of the export
	Now  time.Time       // of that signature; zero: the time of the call
}

// Export writes agents into the set and returns the names of their capsules. Each file is there whole or not at all.
func (s *Set) Export(ctx context.Context, st perdure.Store, o SetOptions, ids ...perdure.AgentID) ([]string, error) {
	if o.Chunks != nil || o.Signatures != nil || o.Manifest != nil {
		return nil, errors.New("export to set: chunks, signatures and manifests of a set have their place in it; " +
			"leave them out")
	}
	if len(o.Recipients) > 0 {
		return nil, errors.New("export to set: shared chunks cannot be encrypted to the readers of one capsule; " +
			"export single encrypted files")
	}
	o.Chunks = s
	unlock, err := s.lock()
	if err != nil {
		return nil, fmt.Errorf("export to set: %w", err)
	}
	defer unlock()
	var manifests []*Manifest
	if o.Binding == WithManifest {
		if o.Sign == nil {
			return nil, errors.New("export to set: a manifest needs a key to sign with")
		}
		var members []Member
		for _, id := range ids {
			heads, err := st.Heads(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("export to set: %w", err)
			}
			members = append(members, Member{id, heads})
		}
		if o.Now.IsZero() {
			o.Now = time.Now()
		}
		if manifests, err = signMembers(o.Sign, o.Now, members...); err != nil {
			return nil, fmt.Errorf("export to set: %w", err)
		}
	}
	var names []string
	for i, id := range ids {
		if manifests != nil {
			o.Manifest = manifests[i]
		}
		name, err := s.export(ctx, st, id, o.Options)
		if err != nil {
			return names, fmt.Errorf("export to set: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

func (s *Set) export(ctx context.Context, st perdure.Store, id perdure.AgentID, o Options) (string, error) {
	a, err := perdure.Load(ctx, st, id)
	if err != nil {
		return "", err
	}
	name := FileName(a.Fold().Intent.Name, id)
	if o.Binding == Detached {
		staged := name + SigExt + StagedExt
		err := s.write(name, func(w io.Writer) error {
			return s.write(staged, func(sigs io.Writer) error {
				o.Signatures = sigs
				_, err := Export(ctx, w, st, id, o)
				return err
			})
		})
		if err == nil {
			err = s.root.Rename(staged, name+SigExt)
		}
		if err == nil {
			err = s.root.Sync(path.Dir(name))
		}
		return name, err
	}
	err = s.write(name, func(w io.Writer) error {
		_, err := Export(ctx, w, st, id, o)
		return err
	})
	if err == nil {
		err = s.root.Remove(name + SigExt) // of the capsule that was there
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return name, err
}

// write makes a file durably and all at once: written beside, synced, renamed.
func (s *Set) write(name string, fill func(io.Writer) error) error {
	tmp := path.Join(path.Dir(name), fmt.Sprintf(".%s.%d%s", path.Base(name), time.Now().UnixNano(), tempExt))
	f, err := s.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.root.Rename(tmp, name)
	}
	if err != nil {
		_ = s.root.Remove(tmp) // the error that led here is the one to tell
		return err
	}
	return s.root.Sync(path.Dir(name))
}

// chunkPath is where a chunk is kept.
func chunkPath(name perdure.Hash) string {
	text := name.String()
	return path.Join(chunkDir, text[:2], text[2:])
}

// Chunk implements Chunks.
func (s *Set) Chunk(name perdure.Hash) ([]byte, error) {
	p := chunkPath(name)
	info, err := s.root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("chunk %s: %w", name.Short(), perdure.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if err := checkRegular(p, info); err != nil {
		return nil, err
	}
	if info.Size() > maxFrame {
		return nil, reject(PredChunk, 0, "$", canon.Count(info.Size(), "bytes"),
			"at most "+canon.Count(maxFrame, "bytes"))
	}
	return s.root.ReadFile(p)
}

// PutChunk implements Chunks. A chunk that is there but damaged is written again.
func (s *Set) PutChunk(name perdure.Hash, record []byte) error {
	if old, err := s.Chunk(name); err == nil && bytes.Equal(old, record) {
		return nil
	}
	p := chunkPath(name)
	if err := s.root.MkdirAll(path.Dir(p), 0o777); err != nil {
		return err
	}
	return s.write(p, func(w io.Writer) error {
		_, err := w.Write(record)
		return err
	})
}

// Import takes a capsule of the set into a store. Its chunks, and its signatures if they are detached, are found in the
// set. What all capsules imported through s unpack to counts against one limit: many small ones may name the same
// chunks.
func (s *Set) Import(ctx context.Context, st perdure.Store, name string, o ImportOptions) (*Arrival, error) {
	f, done, err := s.open(name, &o.ReadOptions)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", name, err)
	}
	defer done()
	s.importing.Lock()
	defer s.importing.Unlock()
	o.before = &s.used
	a, cost, err := importFrom(ctx, st, f, o)
	if err == nil {
		s.used.add(cost)
	}
	return a, err
}

// open opens a capsule of the set and completes the options to read it with: where its chunks are, and its signatures
// if they are detached.
func (s *Set) open(name string, o *ReadOptions) (f *os.File, done func(), err error) {
	if f, err = s.File(name); err != nil {
		return nil, nil, err
	}
	if o.Chunks == nil {
		o.Chunks = s
	}
	sigs, err := SignaturesOf(name, s.File, *o)
	switch {
	case err == nil:
		o.Signatures = sigs
		return f, func() { _, _ = f.Close(), sigs.Close() }, nil // they were only read
	case !errors.Is(err, fs.ErrNotExist):
		_ = f.Close()
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}
