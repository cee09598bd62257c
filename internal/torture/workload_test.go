//go:build unix

package torture

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/storetest"
)

// workload uses a store in every way that changes its files, and keeps the ledger of it.
type workload struct {
	d      *Disk
	kind   kind
	key    *perdure.Signer
	s      store
	agents []*perdure.Agent // as they are once everything handed over is there

	mu      sync.Mutex
	commits []commit
	pruned  map[perdure.Hash]int // the mark after which the body was durably gone; never: zero
	broken  bool                 // something could not be written since the store was opened
	wrong   []string             // what the store did wrong
	hasty   bool                 // what the store refuses counts as acknowledged: a sabotage
}

// store is what the workload uses of a store.
type store interface {
	perdure.Store
	perdure.Claimer
	perdure.Lister
	perdure.Pruner
	perdure.Parter
}

// kind is a kind of store.
type kind struct {
	open   func(ctx context.Context, dir string) (store, error)
	log    func(path string) bool // what must be synced before something is acknowledged
	sqlite bool
}

var kinds = map[string]kind{
	"sqlite": {
		open: func(ctx context.Context, dir string) (store, error) {
			return sqlite.Open(ctx, filepath.Join(dir, storeFile), sqlite.Options{})
		},
		log:    func(path string) bool { return path == storeFile+"-wal" },
		sqlite: true,
	},
	"dir": {
		open: func(_ context.Context, at string) (store, error) {
			return dir.Open(filepath.Join(at, folderName), dir.Options{})
		},
		log: func(path string) bool { return strings.HasSuffix(path, capsule.Ext) },
	},
	"dir binary": {
		open: func(_ context.Context, at string) (store, error) {
			return dir.Open(filepath.Join(at, folderName), dir.Options{Binary: true})
		},
		log: func(path string) bool { return strings.HasSuffix(path, capsule.Ext) },
	},
}

// commit is what one call handed to the store.
type commit struct {
	id      perdure.AgentID
	entries []*perdure.Entry
	mark    int   // where in the trace it was acknowledged; not at all: zero
	err     error // what the store said
}

const storeFile, folderName = "store.db", "agents"

func newWorkload(d *Disk, k kind) *workload {
	return &workload{d: d, kind: k, key: signerOf("workload"), pruned: map[perdure.Hash]int{}}
}

// blobs is where the store has bodies that are too long for its file.
func (w *workload) blobs(dir string) string { return filepath.Join(dir, storeFile+"-blobs") }

// open opens the store on the disk.
func (w *workload) open(ctx context.Context) error {
	w.broken = false
	s, err := w.kind.open(ctx, w.d.Root())
	if err != nil {
		w.s = nil // not a nil *Store in an interface
		return err
	}
	w.s = s
	return nil
}

// create makes an agent.
func (w *workload) create(ctx context.Context) error {
	g, err := w.key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be there"},
		Charter: perdure.Charter{Scope: "torture"}}, time.Now())
	if err != nil {
		return err
	}
	a, err := perdure.Begin(g)
	if err != nil {
		return err
	}
	w.agents = append(w.agents, a)
	return w.hand(ctx, a.ID(), nil, []*perdure.Entry{g})
}

// add appends a commit of n events, each with so many bytes, to an agent.
func (w *workload) add(ctx context.Context, i, n, size int) error {
	drafts := make([]perdure.Draft, n)
	for j := range drafts {
		drafts[j].Body = perdure.Event{Name: "told", Data: must(
			perdure.DataOf(strings.Repeat(string(rune('a'+j)), size)))}
	}
	return w.commit(ctx, i, drafts...)
}

func (w *workload) commit(ctx context.Context, i int, drafts ...perdure.Draft) error {
	a := w.agents[i]
	entries, next, err := w.key.Commit(a, time.Now(), drafts...)
	if err != nil {
		return err
	}
	if err := w.hand(ctx, a.ID(), a.Heads(), entries); err != nil {
		return err
	}
	w.agents[i] = next
	return nil
}

// hand gives a commit to the store and notes what came of it.
func (w *workload) hand(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries []*perdure.Entry) error {
	lost := w.lost()
	err := w.s.Append(ctx, id, heads, entries...)
	c := commit{id: id, entries: entries, err: err}
	return w.noted(c, w.lost()-lost)
}

// noted writes down what came of a commit.
func (w *workload) noted(c commit, lost int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := c.err
	w.broken = w.broken || err != nil
	// a store that broke before syncs everything anew when it opens its file again
	if err == nil && lost > 0 && !w.broken {
		w.wrong = append(w.wrong, "a commit was acknowledged although a sync of the log failed while it was made")
	}
	if err == nil || w.hasty {
		c.mark = w.d.Mark()
	}
	w.commits = append(w.commits, c)
	return err
}

// lost is how many syncs of the log have failed.
func (w *workload) lost() (n int) {
	for _, o := range w.d.Trace() {
		if o.Kind == Lost && w.kind.log(o.Path) {
			n++
		}
	}
	return n
}

// prune drops the body of the first entry of an agent that is picked.
func (w *workload) prune(ctx context.Context, i int, pick func(*perdure.Entry) bool) error {
	id := w.agents[i].ID()
	if !slices.ContainsFunc(w.commits, func(c commit) bool {
		return c.id == id && c.err == nil && c.entries[0].Kind == perdure.KindSnapshot
	}) {
		return errors.New("no snapshot stands for what is to be pruned")
	}
	for _, c := range w.commits {
		for _, e := range c.entries {
			if _, gone := w.pruned[e.Name]; c.id != id || gone || !pick(e) {
				continue
			}
			w.pruned[e.Name] = 0
			_, err := storetest.Prune(ctx, w.s, id, e.Name)
			if err == nil {
				w.pruned[e.Name] = w.d.Mark()
			}
			return err
		}
	}
	return errors.New("no such entry to prune")
}

// checkpoint moves the log into the main file, as a store does by itself when the log is long.
func (w *workload) checkpoint(mode string) error {
	if !w.kind.sqlite {
		return nil
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.d.Root(), storeFile)+"?mode=rw&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	_, err = db.Exec("PRAGMA wal_checkpoint(" + mode + ")")
	return errors.Join(err, db.Close())
}

// course is the whole workload, in the order it is done.
func (w *workload) course() []func(context.Context) error {
	add := func(i, n, size int) func(context.Context) error {
		return func(ctx context.Context) error { return w.add(ctx, i, n, size) }
	}
	checkpoint := func(mode string) func(context.Context) error {
		return func(context.Context) error { return w.checkpoint(mode) }
	}
	var claim perdure.Claim
	return []func(context.Context) error{
		w.open, w.create, add(0, 3, 300), w.create, add(1, 1, 10),
		func(ctx context.Context) (err error) {
			claim, err = w.s.Claim(ctx, w.agents[0].ID(), w.key.Key(), time.Minute)
			return err
		},
		add(0, 1, 20), // synced after something that was not
		func(ctx context.Context) error { return w.s.Renew(ctx, claim, time.Hour) },
		add(0, 2, 2000),
		checkpoint("PASSIVE"),
		func(ctx context.Context) error {
			return w.s.Index(ctx, w.agents[0].Heads(), w.agents[0].Listing(time.Now()))
		},
		add(1, 1, 6000), // the log begins anew
		func(ctx context.Context) error {
			return w.s.Release(ctx, claim, w.agents[0].Heads(), perdure.TimeOf(time.Now()))
		},
		w.strayFolder,
		add(0, 1, perdure.InlineBody+10), // a blob
		add(1, 2, perdure.InlineBody+20), // two blobs, the same but for their salt
		checkpoint("TRUNCATE"),
		func(ctx context.Context) error { return w.snapshot(ctx, 0) },
		func(ctx context.Context) error { return w.snapshot(ctx, 1) },
		add(0, 1, 100),
		func(ctx context.Context) error {
			return w.prune(ctx, 0, func(e *perdure.Entry) bool { return e.Size > perdure.InlineBody })
		},
		func(ctx context.Context) error {
			return w.prune(ctx, 1, func(e *perdure.Entry) bool { return e.Kind == perdure.KindEvent && e.Size < 100 })
		},
		add(1, 1, 30),
		w.both, w.stream, w.stream,
		func(context.Context) error { return w.s.Close() },
		w.open, add(0, 1, 40), add(1, 1, 50),
		func(context.Context) error { return w.s.Close() },
	}
}

// strayFolder makes the folder of blobs, as a process does that is killed right then.
func (w *workload) strayFolder(context.Context) error {
	if !w.kind.sqlite {
		return nil
	}
	return disk.Mkdir(w.blobs(w.d.Root()), 0o700)
}

// stream hands a new agent to the store, or more of the last one, in one go.
func (w *workload) stream(ctx context.Context) error {
	var all []*perdure.Entry
	if len(w.agents) == 2 {
		g, err := w.key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "arrive"},
			Charter: perdure.Charter{Scope: "torture"}}, time.Now())
		if err != nil {
			return err
		}
		w.agents, all = append(w.agents, must(perdure.Begin(g))), append(all, g)
	}
	a := w.agents[2]
	for range 3 {
		entries, next, err := w.key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "arrived",
			Data: must(perdure.DataOf(strings.Repeat("s", 40_000)))}})
		if err != nil {
			return err
		}
		a, all = next, append(all, entries...)
	}
	lost := w.lost()
	err := w.s.PutAll(ctx, a.ID(), func(yield func(*perdure.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err == nil {
		w.agents[2] = a
	}
	return w.noted(commit{id: a.ID(), entries: all, err: err}, w.lost()-lost)
}

// snapshot appends the fold of an agent: only what comes before one can be pruned.
func (w *workload) snapshot(ctx context.Context, i int) error {
	return w.commit(ctx, i, perdure.Draft{Body: perdure.Snapshot{Fold: *w.agents[i].Fold()}})
}

// both appends to both agents at the same time, so that they share a sync.
func (w *workload) both(ctx context.Context) error {
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = w.add(ctx, i, 2, 200) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// check opens what is left of the store in a folder and holds it against the ledger as it was at a mark. It goes on
// with it, too.
func (w *workload) check(dir string, marks int) error {
	ctx := context.Background()
	s, err := w.kind.open(ctx, dir)
	if err != nil {
		return err
	}
	err = w.repair(ctx, s)
	if err == nil {
		err = w.checkStore(ctx, s, marks)
	}
	return errors.Join(err, s.Close(), w.checkBlobs(dir, marks))
}

// repair does what `perdure doctor --repair` does for files of a folder that end in garbage: an append that was torn,
// or rot, which nobody can tell apart. SQLite files need none.
func (w *workload) repair(ctx context.Context, s store) error {
	if w.kind.sqlite {
		return nil
	}
	ailing, err := s.(perdure.Healer).Ailing(ctx)
	if err != nil {
		return err
	}
	for l, err := range s.List(ctx, perdure.Filter{}) {
		if err != nil {
			return err
		}
		if _, err := checkAgent(ctx, s, l.Agent, nil); err != nil {
			ailing[l.Agent] = perdure.Ailment{}
		}
	}
	for id := range ailing {
		if _, err := s.(perdure.Healer).Heal(ctx, id, nil); err != nil {
			return err
		}
	}
	return nil
}

// checkBlobs finds no file of a body that was durably pruned.
func (w *workload) checkBlobs(dir string, marks int) error {
	for _, c := range w.commits {
		for _, e := range c.entries {
			if mark := w.pruned[e.Name]; mark == 0 || mark > marks {
				continue
			}
			if _, err := os.Lstat(filepath.Join(w.blobs(dir), e.Body.String())); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the file of a body that was pruned is still there: %v", err)
			}
		}
	}
	return nil
}

func (w *workload) checkStore(ctx context.Context, s store, marks int) error {
	found := map[perdure.AgentID]map[perdure.Hash]*perdure.Entry{}
	for l, err := range s.List(ctx, perdure.Filter{}) {
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		held := map[perdure.Hash]*perdure.Entry{}
		found[l.Agent] = held
		a, err := checkAgent(ctx, s, l.Agent, func(e *perdure.Entry) { held[e.Name] = e })
		if err != nil {
			return fmt.Errorf("agent %s: %w", l.Agent.Short(), err)
		}
		if err := goOn(ctx, s, a, w.key); err != nil {
			return fmt.Errorf("agent %s: %w", l.Agent.Short(), err)
		}
	}
	n := 0
	for _, c := range w.commits {
		held, err := w.checkCommit(c, found[c.id], marks)
		if err != nil {
			return err
		}
		n += held
	}
	for _, held := range found {
		n -= len(held)
	}
	if n != 0 {
		return fmt.Errorf("%d entries too few or too many", n)
	}
	for look, err := range s.Due(ctx, time.Now().Add(2*time.Hour)) {
		if err != nil {
			return fmt.Errorf("due: %w", err)
		}
		delete(found, look.Agent)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d agents that are due are not found", len(found))
	}
	return nil
}

// checkCommit finds a commit whole, as it was, or, if it was not acknowledged, not at all. It returns how many of its
// entries are there.
func (w *workload) checkCommit(c commit, held map[perdure.Hash]*perdure.Entry, marks int) (n int, err error) {
	for _, e := range c.entries {
		got := held[e.Name]
		if got == nil {
			continue
		}
		n++
		mark, pruned := w.pruned[e.Name]
		switch {
		case got.BodyBytes() == nil && !pruned:
			return n, fmt.Errorf("entry %s has lost its body", e.Name.Short())
		case got.BodyBytes() != nil && pruned && mark != 0 && mark <= marks:
			return n, fmt.Errorf("entry %s has the body that was pruned", e.Name.Short())
		case got.BodyBytes() == nil:
			e = e.Drop()
		}
		if !bytes.Equal(must(got.MarshalBinary()), must(e.MarshalBinary())) {
			return n, fmt.Errorf("entry %s is not what it was", e.Name.Short())
		}
	}
	acknowledged := c.mark != 0 && c.mark <= marks
	if n != len(c.entries) && (n > 0 || acknowledged) {
		return n, fmt.Errorf("%d of the %d entries of a commit are there (acknowledged: %t)", n, len(c.entries),
			acknowledged)
	}
	return n, nil
}

// goOn appends to an agent and finds it there.
func goOn(ctx context.Context, s perdure.Store, a *perdure.Agent, key *perdure.Signer) error {
	entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "went on"}})
	if err != nil {
		return err
	}
	if err := s.Append(ctx, a.ID(), a.Heads(), entries...); err != nil {
		return fmt.Errorf("go on: %w", err)
	}
	heads, err := s.Heads(ctx, a.ID())
	if err != nil || !slices.Equal(heads, next.Heads()) {
		return fmt.Errorf("go on: heads %v, want %v: %w", heads, next.Heads(), err)
	}
	return nil
}
