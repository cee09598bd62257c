// Package dir keeps agents in a folder, one capsule file each. The files are all there is: they can be copied,
// synchronised, put under version control or carried away on a stick while the store is in use or not, and what comes
// back is merged. In their usual form they are lines of text, which git merges by itself.
//
//	NAME-ID.agent  an agent; other names do as well, such as the copies that synchronisation leaves when both sides
//	               changed a file
//	.index/        what can be thrown away: claims, listings, when to look at which agent, and in rows/ where the
//	               entries of long files lie; arrivals, the order in which entries came, see perdure.Feeder; and place,
//	               which tells this folder from its copies: without it the agents here have lost their seat, until
//	               their owner takes it again
//
// Any number of processes may use a folder at once. Others may put files into it. A copy beside the file of an agent
// joins it only if it verifies and all its entries count by Options.Trust; else it is left alone. Whether an agent that
// came as a file of its own counts is for the node to judge.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/alive"
	"github.com/perdure/perdure/internal/disk"
)

// Store is a folder of agents.
type Store struct {
	dir  string
	form capsule.Form

	mu      sync.Mutex
	files   map[string]*file // by name
	agents  map[perdure.AgentID]*agent
	open    map[perdure.AgentID]*handle
	cut     sync.Map // by the names of files, under which others they are kept as they were; see Cut
	clock   int64    // of uses, for letting go of what was not used for longest
	journal *journal
	closed  bool
	looks   bool                     // nothing is written
	aside   string                   // but for what is derived, and there; empty: nowhere
	written map[perdure.AgentID]bool // since the index was last brought up to date
	bell    bell
	trust   *perdure.Trust
	secret  []byte
	nodes   alive.Folder
	feed    arrivals
	noticed glance                   // when arrivals were last looked for
	listed  time.Time                // the same
	used    map[perdure.AgentID]bool // since then, by those who may have read what nobody rang for yet
	walked  walked
	looked  int64 // how many agents were looked at to list some
}

var (
	_ perdure.Store   = (*Store)(nil)
	_ perdure.Claimer = (*Store)(nil)
	_ perdure.Lister  = (*Store)(nil)
	_ perdure.Watcher = (*Store)(nil)
	_ perdure.Pruner  = (*Store)(nil)
	_ perdure.Holder  = (*Store)(nil)
	_ perdure.Placed  = (*Store)(nil)
	_ perdure.Parter  = (*Store)(nil)
)

// Options say how a folder is kept. The zero Options keep new agents as text.
type Options struct {
	Binary bool // keep new agents in binary form: smaller and faster, but git cannot merge it
	// Trust is whose entries count. A copy beside an agent that counts is left alone if it would bring entries that do
	// not: whoever can drop a file into the folder could otherwise hold the agent up. Nil: every copy that verifies is
	// merged.
	Trust *perdure.Trust
	// Secret is known to whoever keeps the folder, and to nobody who may put files into it. With it, what is kept of
	// long files is believed as far as it goes; without, how much of a memory a file holds is counted in the file
	// itself.
	Secret []byte
	// only look: nothing in the folder is written, made, merged or removed, and a folder that is not there is an error
	Look bool
	// Aside is a folder where who only looks keeps what it derives of long files, for its next look; empty: nowhere. It
	// is made when it is needed, and can be thrown away.
	Aside string
}

// errLooks says that the folder was opened to look at.
var errLooks = errors.New("the folder was opened read-only")

// indexDir holds what can be thrown away.
const indexDir = ".index"

// maxOpen bounds the files that are open while nobody uses them.
const maxOpen = 128

// Open opens a folder, which it makes if there is none.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{dir: dir, trust: o.Trust, secret: o.Secret, form: capsule.Text, files: map[string]*file{},
		agents: map[perdure.AgentID]*agent{}, open: map[perdure.AgentID]*handle{},
		written: map[perdure.AgentID]bool{}, used: map[perdure.AgentID]bool{},
		bell: bell{path: filepath.Join(dir, indexDir, bellName)}}
	s.nodes.Path = filepath.Join(dir, indexDir, nodesDir)
	s.feed.path = filepath.Join(dir, indexDir, arrivalsName)
	if o.Binary {
		s.form = capsule.Binary
	}
	err := plainIndex(dir)
	if s.looks = o.Look; s.looks {
		s.aside = o.Aside
	}
	if err != nil {
		// nothing in it is touched
	} else if s.looks {
		_, err = os.ReadDir(dir)
	} else {
		err = furnish(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open folder of agents: %w", err)
	}
	if s.journal, err = openJournal(filepath.Join(dir, indexDir), s.looks); err != nil {
		return nil, fmt.Errorf("open folder of agents: %w", err)
	}
	return s, nil
}

// plainIndex refuses an index that has anything but files and folders in it. The folder may have come from a stranger,
// by git or on a stick: what is written to a link in it would go to whatever file the stranger chose, and a pipe would
// hold everybody up.
func plainIndex(dir string) error {
	index := filepath.Join(dir, indexDir)
	err := filepath.WalkDir(index, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile
		}
		if err == nil {
			err = disk.Regular(path, info)
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, disk.ErrIrregular):
		return perdure.WithHint(err, "remove "+index+", which is made anew; did somebody else put this there?")
	}
	return err
}

// SetTrust changes whose entries count, and looks at the files again that were left alone.
func (s *Store) SetTrust(t *perdure.Trust) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trust = t
	for name, f := range s.files {
		if f.fault != nil {
			delete(s.files, name)
		}
	}
}

// furnish makes the folder, and tells git and Syncthing what to make of it. Files that are there are left as they are.
func furnish(dir string) error {
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	index := filepath.Join(dir, indexDir)
	// whoever made the folder may have been killed before its name was durable
	if _, err := os.Lstat(index); errors.Is(err, fs.ErrNotExist) {
		if err := disk.Sync(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if err := disk.MkdirAll(index, folderMode(dir)); err != nil {
		return err
	}
	for name, text := range map[string]string{
		".gitattributes":                      "*" + capsule.Ext + " merge=union\n",
		".stignore":                           indexDir + "\n",
		filepath.Join(indexDir, ".gitignore"): "*\n",
	} {
		f, err := disk.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.ModeIn(dir))
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = io.WriteString(f, text)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folderMode is the mode of a new folder in another: for its owner alone, unless that is shared with others who write
// to it.
func folderMode(dir string) fs.FileMode {
	mode := disk.ModeIn(dir)
	return mode | mode&0o444>>2 // who may read may enter
}

// Cut are the files whose end was missing when they were opened here, and the names under which they are kept as they
// were. What is whole of them is in their place.
func (s *Store) Cut() map[string]string {
	out := map[string]string{}
	s.cut.Range(func(name, aside any) bool {
		out[name.(string)] = aside.(string)
		return true
	})
	return out
}

// Derived is where who only looks keeps what it derives; empty: nowhere.
func (s *Store) Derived() string { return s.aside }

// rowsOf is under which name the rows of a file are kept.
func (s *Store) rowsOf(name string) string { return filepath.Join(s.dir, indexDir, "rows", name) }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Append implements perdure.Store.
func (s *Store) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	return s.add(ctx, "append to", id, entries, func(held []perdure.Hash) error {
		if !slices.Equal(held, slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare)) {
			return perdure.ErrConflict
		}
		return nil
	})
}

// Put implements perdure.Store.
func (s *Store) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return s.add(ctx, "put to", id, entries, func([]perdure.Hash) error { return nil })
}

// PutAll implements perdure.Parter.
func (s *Store) PutAll(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	existing := func(l *capsule.Log) error { return l.AddAll(entries) }
	err := s.with(ctx, "put to", id, true, existing)
	if !errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	made, err := s.stage(ctx, id, perdure.Full, entries)
	if err != nil {
		return fmt.Errorf("put to agent %s: %w", id.Short(), err)
	}
	if !made { // another process was first
		return s.with(ctx, "put to", id, true, existing)
	}
	return nil
}

// stage is create for a sequence: the file is written while others use the folder, and gets its name once it is whole.
func (s *Store) stage(ctx context.Context, id perdure.AgentID, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error]) (made bool, err error) {
	var first *perdure.Entry
	for first, err = range entries {
		break
	}
	if first == nil || err != nil {
		return err == nil, err
	}
	name := capsule.FileName(first.Newborn().Name, id)
	staged, err := capsule.StageLog(s.path(name), s.form, id, d, entries)
	if err != nil {
		return false, err
	}
	made, err = s.make(ctx, id, name, staged.Place)
	if !made {
		staged.Discard()
	}
	return made, err
}

// add adds entries if the heads are accepted.
func (s *Store) add(ctx context.Context, verb string, id perdure.AgentID, entries []*perdure.Entry,
	accept func(held []perdure.Hash) error) error {
	if s.looks {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), errLooks)
	}
	existing := func(l *capsule.Log) error {
		if err := accept(l.LockedHeads()); err != nil {
			return err
		}
		_, err := l.Add(entries...)
		return err
	}
	err := s.with(ctx, verb, id, true, existing)
	if !errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	if err := accept(nil); err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	made, err := s.create(ctx, id, entries)
	if err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	if !made { // another process was first
		return s.with(ctx, verb, id, true, existing)
	}
	return nil
}

// create makes the file of a new agent, and reports whether it was not there.
func (s *Store) create(ctx context.Context, id perdure.AgentID, entries []*perdure.Entry) (bool, error) {
	if len(entries) == 0 {
		return true, nil
	}
	first := entries[0]
	if first.ID() != id {
		return false, first.Foreign(id)
	}
	if len(first.Parents) > 0 {
		return false, first.Unlinked(first.Parents[0])
	}
	name := capsule.FileName(first.Newborn().Name, id)
	return s.make(ctx, id, name, func() error { return capsule.CreateLog(s.path(name), s.form, entries...) })
}

// make has a file made for an agent that has none, and reports whether it was.
func (s *Store) make(ctx context.Context, id perdure.AgentID, name string, write func() error) (made bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return false, err
	}
	err = s.journal.exclusive(func() error {
		if err := s.look(); err != nil {
			return err
		}
		if s.agents[id] != nil {
			return nil
		}
		if f := s.files[name]; f != nil && f.fault != nil {
			return perdure.WithHint(fmt.Errorf("a file that is no whole agent is in its place: %w", f.fault),
				"if "+name+" is still being copied, try again; else move it away")
		}
		if err := write(); err != nil {
			return err
		}
		made = true
		s.written[id] = true
		s.bell.ring()
		s.files[name] = &file{agent: id}
		s.agents[id] = &agent{main: name}
		return nil
	})
	return made, err
}

// Entries implements perdure.Store.
func (s *Store) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return capsule.Pages(after, func(at perdure.Cursor, n int) (page []perdure.Item, err error) {
		err = s.with(ctx, "read", id, false, func(l *capsule.Log) (err error) {
			page, err = l.Read(at, n)
			return err
		})
		return page, err
	})
}

// Heads implements perdure.Store.
func (s *Store) Heads(ctx context.Context, id perdure.AgentID) (heads []perdure.Hash, err error) {
	err = s.with(ctx, "heads of", id, false, func(l *capsule.Log) error {
		heads = l.Heads()
		return nil
	})
	return heads, err
}

// Snapshots implements perdure.Store.
func (s *Store) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return capsule.Snapshots(func(f func(*capsule.Log) error) error {
		return s.with(ctx, "snapshots of", id, false, f)
	})
}

// NameSnapshots names what Snapshots yields, and says where it stands, until yield returns false.
func (s *Store) NameSnapshots(ctx context.Context, id perdure.AgentID,
	yield func(perdure.Hash, perdure.Cursor) bool) error {
	return s.with(ctx, "snapshots of", id, false, func(l *capsule.Log) error { return l.NameSnapshots(yield) })
}

// SnapshotCursors says where the snapshots stand that Snapshots yields, newest first.
func (s *Store) SnapshotCursors(ctx context.Context, id perdure.AgentID) (places []perdure.Cursor, err error) {
	err = s.with(ctx, "snapshots of", id, false, func(l *capsule.Log) error {
		places = l.Snapshots()
		return nil
	})
	return places, err
}

// Prune implements perdure.Pruner.
func (s *Store) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	entries ...*perdure.Entry) (gone int64, err error) {
	err = s.with(ctx, "prune", id, true, func(l *capsule.Log) (err error) {
		gone, err = l.Prune(heads, names, entries...)
		return err
	})
	return gone, err
}

// Close implements perdure.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.settle()
	s.closed = true
	err := errors.Join(s.journal.close(), s.bell.close(), s.nodes.Close(), s.feed.close())
	for id, h := range s.open {
		delete(s.open, id)
		if h.users > 0 {
			continue // who uses it closes it
		}
		if cerr := h.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return fmt.Errorf("close folder %s: %w", s.dir, err)
	}
	return nil
}
