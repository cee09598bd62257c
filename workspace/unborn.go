package workspace

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// unborn is an agent that is there for documents, and begins with the first of them: what is refused leaves nothing
// behind. Its id follows from its genesis, so that it is known before.
type unborn struct {
	genesis perdure.Genesis
	agent   *perdure.Agent // as it will begin
	trial   *perdure.Node  // has it in memory alone, to find out what cannot be written
	born    atomic.Bool
}

// expect is the agent that a genesis begins: as it is here, else as it will be.
func (w *Workspace) expect(ctx context.Context, g perdure.Genesis) (*perdure.Agent, *unborn, error) {
	if err := CheckScope(g.Charter.Scope); err != nil {
		return nil, nil, err
	}
	u := &unborn{genesis: g, trial: &perdure.Node{Store: new(perdure.MemStore), Key: w.Node.Key, Guard: w.Node.Guard,
		PolicyHash: w.Node.PolicyHash}}
	var err error
	if u.agent, err = u.trial.CreateAsleep(ctx, g); err != nil {
		return nil, nil, err
	}
	if there, err := w.Node.Load(ctx, u.agent.ID()); !errors.Is(err, perdure.ErrNotFound) {
		return there, nil, err
	}
	return u.agent, u, nil
}

// ready makes the role, and the memory that something is to be written to, if they have not begun yet, and if nothing
// is wrong with what is to be written. It reports whether it made one: then the reader looks again at what is there.
func (r *Reader) ready(ctx context.Context, s *shelf, all ...perdure.Writing) (made bool, err error) {
	for _, u := range []*unborn{r.unborn, s.unborn} {
		if u == nil || u.born.Load() {
			continue
		}
		if len(all) > 0 {
			if _, err := u.trial.Write(ctx, u.agent.ID(), nil, all...); err != nil {
				return made, err
			}
		}
		err := r.bear(ctx, u)
		var other taken
		if errors.As(err, &other) && r.Workspace.Scope == "" { // nobody asked for another scope than the role's
			return true, r.become(ctx, other.role)
		}
		if err != nil {
			return made, err
		}
		made = true
	}
	if made {
		err = r.follow(ctx)
	}
	return made, err
}

// Begun reports whether the role had begun when this reader was made, or is none.
func (r *Reader) Begun() bool { return r.unborn == nil }

// Begin makes the role, if it has not begun yet.
func (r *Reader) Begin(ctx context.Context) error {
	_, err := r.ready(ctx, new(shelf))
	return err
}

// become goes on as the role that another process began meanwhile.
func (r *Reader) become(ctx context.Context, role *perdure.Agent) error {
	as, err := r.For(ctx, role)
	if err != nil {
		return err
	}
	as.by, as.key, as.still = r.by, r.key, r.still
	if r.loaded != nil {
		as.loaded = role
	}
	*r = *as
	return r.follow(ctx)
}

// bear creates an agent that sleeps for life, and lists it. Processes of one home begin roles one after the other.
// Where several homes share a store, another may begin the same role in another scope meanwhile: the one that arrived
// first is the role, and the other one ends before anything is in it.
func (w *Workspace) bear(ctx context.Context, u *unborn) (err error) {
	if u.genesis.Intent.Kind == roleKind {
		done, err := w.Index.alone(ctx)
		if err != nil {
			return err
		}
		defer done()
	}
	if err := w.vacant(ctx, u); err != nil {
		return err
	}
	a, err := w.Node.CreateAsleep(ctx, u.genesis)
	if err != nil {
		return err
	}
	if l, ok := w.Store.(perdure.Lister); ok {
		if err := l.Index(ctx, a.Heads(), a.Listing(time.Now())); err != nil {
			return err
		}
	}
	if err := w.vacant(ctx, u); errors.As(err, new(taken)) {
		_, ending := w.Node.Cancel(ctx, a.ID(), "another process began this role first")
		return errors.Join(err, ending)
	} else if err != nil {
		return err
	}
	u.born.Store(true)
	return nil
}

// taken says that another agent of this key is a role already.
type taken struct {
	error
	role *perdure.Agent
}

func (t taken) Unwrap() error { return t.error }

// vacant refuses to begin a role that another agent of this key is already.
func (w *Workspace) vacant(ctx context.Context, u *unborn) error {
	role := u.genesis.Intent.Name
	if u.genesis.Intent.Kind != roleKind {
		return nil
	}
	if err := w.Index.Follow(ctx, w.Store, nil); err != nil {
		return err
	}
	own, _, err := w.rolesCalled(ctx, role)
	if err == nil && own != nil && own.ID() != u.agent.ID() {
		err = taken{otherScope(role, own, u.genesis.Charter.Scope), own}
	}
	return err
}

const (
	// aloneTries is how often the lock is tried that alone takes, with a moment between: each has it for less.
	aloneTries = 500
	aloneWait  = 10 * time.Millisecond
)

// alone waits until no other process that uses the index begins a role, or makes the file of the index.
func (ix *Index) alone(ctx context.Context) (done func(), err error) {
	if ix.path == "" {
		return func() {}, nil
	}
	for range aloneTries {
		var f *os.File
		if f, err = disk.OpenLocked(ix.path + LockMark); err == nil {
			return func() {
				_ = os.Remove(f.Name()) // not everywhere can an open file be removed; without its lock it is nothing
				_ = f.Close()
			}, nil
		}
		if !errors.Is(err, disk.ErrLocked) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(aloneWait):
		}
	}
	if errors.Is(err, disk.ErrLocked) {
		err = perdure.WithHint(errors.New("another process is beginning a role, or making the search index"),
			"try again")
	}
	return nil, err
}

// self is the agent of the role.
func (r *Reader) self(ctx context.Context) (*perdure.Agent, error) {
	if r.loaded != nil {
		return r.loaded, nil
	}
	a, err := r.Node.Load(ctx, r.agent)
	if r.unborn != nil && errors.Is(err, perdure.ErrNotFound) {
		return r.unborn.agent, nil
	}
	return a, err
}
