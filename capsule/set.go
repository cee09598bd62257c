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
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// Set is a folder of capsules that share the chunks of their large bodies: what many agents hold is there once.
//
//	NAME-ID.agent      a capsule
//	NAME-ID.agent.sig  its signatures, when they are detached
//	chunks/ab/cdef…    a chunk, under its name
type Set struct {
	root *os.Root
	dir  string
}

var _ Chunks = (*Set)(nil)

// SigExt is what the name of a file of detached signatures has after that of its capsule.
const SigExt = ".sig"

// OpenSet opens the set in a folder, which it makes if there is none. Nothing outside the folder is read or written, whatever names and
// links are in it.
func OpenSet(dir string) (*Set, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("open set: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open set: %w", err)
	}
	return &Set{root: root, dir: dir}, nil
}

// Close ends the use of the set.
func (s *Set) Close() error { return s.root.Close() }

// Names yields the names of the capsules, in order. A name that ends like a capsule's but is no regular file is refused (capsule.name).
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
		return nil, errors.New("export to set: chunks, signatures and manifests of a set have their place in it; leave them out")
	}
	if len(o.Recipients) > 0 {
		return nil, errors.New("export to set: shared chunks cannot be encrypted to the readers of one capsule; export single encrypted files")
	}
	o.Chunks = s
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
		var err error
		if manifests, err = SignMembers(o.Sign, o.Now, members...); err != nil {
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
	var sigs bytes.Buffer
	if o.Binding == Detached {
		o.Signatures = &sigs
	}
	err = s.write(name, func(w io.Writer) error {
		_, err := Export(ctx, w, st, id, o)
		return err
	})
	if err == nil && o.Binding == Detached {
		err = s.write(name+SigExt, func(w io.Writer) error {
			_, err := w.Write(sigs.Bytes())
			return err
		})
	}
	return name, err
}

// write makes a file durably and all at once: written beside, synced, renamed.
func (s *Set) write(name string, fill func(io.Writer) error) error {
	tmp := path.Join(path.Dir(name), fmt.Sprintf(".%s.%d.tmp", path.Base(name), time.Now().UnixNano()))
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
	return s.syncDir(path.Dir(name))
}

// syncDir makes a rename durable.
func (s *Set) syncDir(dir string) error {
	d, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// chunkPath is where a chunk is kept.
func chunkPath(name perdure.Hash) string {
	text := name.String()
	return path.Join("chunks", text[:2], text[2:])
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
		return nil, reject(PredChunk, 0, "$", num(info.Size(), "bytes"), "at most "+num(maxFrame, "bytes"))
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

// Import takes a capsule of the set into a store. Its chunks, and its signatures if they are detached, are found in the set.
func (s *Set) Import(ctx context.Context, st perdure.Store, name string, o ImportOptions) (*Arrival, error) {
	f, err := s.File(name)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	o.Chunks = s
	sigs, err := s.File(name + SigExt)
	switch {
	case err == nil:
		defer func() { _ = sigs.Close() }()
		o.Signatures = sigs
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("import %s: %w", name, err)
	}
	return Import(ctx, st, f, o)
}

// Verify checks every chunk of the set against its name and returns how many there are.
func (s *Set) Verify(ctx context.Context) (chunks int, err error) {
	err = fs.WalkDir(s.root.FS(), "chunks", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := perdure.ParseHash(path.Base(path.Dir(p)) + path.Base(p))
		if err != nil {
			return reject(PredName, 0, "$", fmt.Sprintf("%.80q", p), "a chunk under its name")
		}
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
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // no large bodies, no chunks
	}
	if err != nil {
		return chunks, fmt.Errorf("verify set: %w", err)
	}
	return chunks, nil
}
