package home

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/sqlite"
)

// fileLease is the lease of the claim on an agent whose file is run. It is that of nodes: when the process is killed,
// they go on with the agent of the store as soon as with any other.
const fileLease = 10 * time.Second

// Alone keeps everybody else off an agent whose file is run: another copy of the file, and the agent in the home's own
// store, also one that comes there meanwhile. The file has the seat of the home's store (see PlaceOf), so that nobody
// else may act on it. What it returns ends that; the context ends then, and when the agent is lost to somebody else.
//
// Two things keep them off. The process has a lock in the home, by which it is known to live, and every node of the
// home looks at that once it has claimed an agent (see barred): since the lock is taken before the claim is, and looked
// at after it is, one of two sees the other. And it claims the agent in the store and renews that, which keeps off the
// nodes of other homes on the same store.
func (h *Home) Alone(ctx context.Context, id perdure.AgentID) (context.Context, func() error, error) {
	if h.agent == "" || h.Dir == "" {
		return ctx, func() error { return nil }, nil
	}
	if err := h.settle(ctx); err != nil {
		return nil, nil, err
	}
	unlock, err := h.lockFile(id)
	if err != nil {
		return nil, nil, err
	}
	s, err := h.neighbour(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	ctx, lose := context.WithCancelCause(ctx)
	if s == nil { // there is no store it could be in
		done := func() error {
			lose(nil)
			return unlock()
		}
		return ctx, done, nil
	}
	k := &keeping{store: s, id: id, lease: fileLease, lose: lose}
	_, _ = rand.Read(k.who[:]) // it never fails
	if err := k.try(ctx); err != nil {
		lose(err)
		return nil, nil, errors.Join(err, s.Close(), unlock())
	}
	k.start(ctx)
	return ctx, func() error { return errors.Join(k.end(ctx), s.Close(), unlock()) }, nil
}

// runElsewhere is the error for an agent whose file somebody runs.
func runElsewhere(id perdure.AgentID) error {
	return perdure.WithHint(Busy(id.Short()+" is being run by another node in this home"),
		"run it when that has ended")
}

// fileLock is the file whose lock the process has that runs the file of an agent.
func (h *Home) fileLock(id perdure.AgentID) string { return h.beside("-file-" + id.String()[:16]) }

// lockTries is how often the lock of a file is tried, with a moment between: nodes that look at it have it for less.
const lockTries = 50

// lockFile takes the lock of an agent whose file is run.
func (h *Home) lockFile(id perdure.AgentID) (unlock func() error, err error) {
	for range lockTries {
		file, err := disk.OpenLocked(h.fileLock(id))
		if err == nil {
			return func() error {
				_ = os.Remove(file.Name()) // not everywhere can an open file be removed; without its lock it is nothing
				return file.Close()
			}, nil
		}
		if !errors.Is(err, disk.ErrLocked) {
			return nil, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, runElsewhere(id)
}

// barred says that the file of an agent is run, so that a node leaves the agent of the store alone.
func (h *Home) barred(id perdure.AgentID) error {
	file, err := os.OpenFile(h.fileLock(id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whether the file of agent %s is run: %w", id.Short(), err)
	}
	if err = disk.Lock(file, false); errors.Is(err, disk.ErrLocked) {
		err = fmt.Errorf("%w: %w", perdure.ErrConflict, runElsewhere(id))
	}
	return errors.Join(err, file.Close())
}

// keeping is the claim on an agent in the store, while its file is run.
type keeping struct {
	store claimed
	id    perdure.AgentID
	who   perdure.Key
	lease time.Duration
	lose  context.CancelCauseFunc

	claim   perdure.Claim // its zero: the agent is not in the store yet
	heads   []perdure.Hash
	refused int // how often in a row somebody else had it

	stop, stopped chan struct{}
}

// refusedFor is how often in a row somebody else may have the agent: nodes of this home that claimed it look at the
// lock and give it back. After that it is a node of another home.
const refusedFor = 3

func (k *keeping) start(ctx context.Context) {
	k.stop, k.stopped = make(chan struct{}), make(chan struct{})
	go k.keep(ctx)
}

// keep renews the claim until it is stopped, and takes it once the agent comes into the store.
func (k *keeping) keep(ctx context.Context) {
	defer close(k.stopped)
	for {
		timer := time.NewTimer(k.lease / 3)
		select {
		case <-k.stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.lease/3)
		err := k.try(try)
		cancel()
		if k.refused >= refusedFor {
			k.lose(err)
		}
	}
}

// try claims the agent, or renews the claim. That it is not in the store is no error. A claim that was lost, because
// this process was stopped for long, is taken again if nobody has written anything since.
func (k *keeping) try(ctx context.Context) error {
	if !k.claim.Agent.IsZero() {
		if err := k.store.Renew(ctx, k.claim, k.lease); !errors.Is(err, perdure.ErrConflict) {
			return err
		}
	}
	heads, err := k.store.Heads(ctx, k.id)
	if err != nil {
		return ctx.Err() // it is not there, or nobody can run it
	}
	c, err := k.store.Claim(ctx, k.id, k.who, k.lease)
	switch {
	case errors.Is(err, perdure.ErrConflict):
		k.refused++
		return runElsewhere(k.id)
	case err != nil:
		return err
	case k.heads != nil && !slices.Equal(k.heads, heads):
		k.refused = refusedFor
		return errors.Join(runElsewhere(k.id), k.store.Release(ctx, c, nil, 0))
	}
	k.claim, k.heads, k.refused = c, heads, 0
	return nil
}

// end gives the claim up.
func (k *keeping) end(ctx context.Context) error {
	close(k.stop)
	<-k.stopped
	var lost error
	if busy := Busy(""); errors.As(context.Cause(ctx), &busy) {
		lost = context.Cause(ctx)
	}
	k.lose(nil)
	if k.claim.Agent.IsZero() {
		return lost
	}
	return errors.Join(lost, k.store.Release(context.WithoutCancel(ctx), k.claim, nil, perdure.TimeOf(time.Now())))
}

// claimed is a store in which agents can be claimed.
type claimed interface {
	perdure.Store
	perdure.Claimer
}

// neighbour opens the store of this home beside a file that is run; nil: there is none, or the file is in it.
func (h *Home) neighbour(ctx context.Context) (claimed, error) {
	switch {
	case h.remote != "":
		s, err := h.dial(ctx, true, false)
		if errors.Is(err, perdure.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	case !h.there() || h.Scheme == "mem":
		return nil, nil
	case h.Scheme == "dir":
		if within(h.agent, h.File) { // its file has a lock of its own, which nodes wait for
			return nil, nil
		}
		s, err := h.openFolder(false)
		if err != nil {
			return nil, err
		}
		return s.(claimed), nil
	}
	s, err := sqlite.Open(ctx, h.File, sqlite.Options{Existing: true})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// within reports whether a file is in a folder itself.
func within(file, folder string) bool {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		file = path
	}
	in, err := os.Stat(filepath.Dir(file))
	if err != nil {
		return false
	}
	at, err := os.Stat(folder)
	return err == nil && os.SameFile(in, at)
}
