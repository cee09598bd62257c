package home

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// lookWitness is what this home has seen, to be asked only: looking is not seeing. Nil for a home in memory.
func (h *Home) lookWitness() (*sqlite.Witness, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Dir == "" || h.looked != nil {
		return h.looked, nil
	}
	w, err := sqlite.LookWitness(filepath.Join(h.Dir, witnessFile))
	if err != nil {
		return nil, err
	}
	w.Own = h.isStore
	h.looked = w
	return w, nil
}

// seeAgain makes a witness that is gone anew, of what the home's own store holds: else old copies of its agents would
// pass for new ones. There is nothing to see where there is no store, or where others keep it.
func (h *Home) seeAgain(path string) (err error) {
	if h.remote != "" || !h.there() {
		return nil
	}
	ctx := context.Background()
	defer func() {
		if err != nil {
			err = perdure.WithHint(fmt.Errorf("%s is missing and is rebuilt from the store: %w", path, err),
				"see perdure doctor")
		}
	}()
	var s perdure.Store
	if h.Scheme == "dir" {
		s, err = h.openFolder(true)
	} else {
		s, err = sqlite.Open(ctx, h.File, sqlite.Options{Existing: true, Look: true})
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	own, err := filepath.Abs(h.File)
	if err != nil {
		return err
	}
	w, err := sqlite.OpenWitness(path, own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return h.seeAll(ctx, s, w)
}

// seeAll tells a witness of all agents of a store that count here. How far they had come is not looked at: the heads
// say it.
func (h *Home) seeAll(ctx context.Context, s perdure.Store, w *sqlite.Witness) error {
	l, err := view.Lister(s)
	if err != nil {
		return err
	}
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return err
	}
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return err
		}
		a, err := perdure.Load(ctx, s, one.Agent)
		if err != nil {
			continue // it is damaged, which who uses it is told
		}
		if trust.Counts(a) == nil {
			seen := a.Sighting(place)
			seen.Seq = 0
			w.See(one.Agent, seen)
		}
	}
	return nil
}

// Behind says what this copy of an agent lacks of what was seen here; nil: nothing, or this store handed the agent over
// and it went on in another, as it should.
func (h *Home) Behind(ctx context.Context, s perdure.Store, a *perdure.Agent) (*view.Older, error) {
	w, err := h.lookWitness()
	if w == nil || err != nil {
		return nil, err
	}
	missing, seen, _, err := h.behind(ctx, s, a, w)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	return &view.Older{Seen: seen.At, Missing: max(seen.Seq-a.Fold().Seq, int64(len(missing))), Given: seen.Given,
		Name: view.Callable(a)}, nil
}

// behind is perdure.Agent.Behind by what a witness has seen.
func (h *Home) behind(ctx context.Context, s perdure.Store, a *perdure.Agent,
	w perdure.Witness) (missing []perdure.Hash, seen perdure.Sighting, away bool, err error) {
	if seen, err = w.Seen(ctx, a.ID()); err != nil || len(seen.Heads) == 0 {
		return nil, seen, false, err
	}
	trust, err := h.Trust()
	if err != nil {
		return nil, seen, false, err
	}
	at, err := h.PlaceOf(ctx, s)
	if err != nil {
		return nil, seen, false, err
	}
	missing, away, err = a.Behind(ctx, s, at, trust, seen)
	seen.Given = seen.GivenSince(a, at)
	return missing, seen, away, err
}

// Standing is where an agent stands in a store of this home, for all who say so: as perdure.Agent.Standing says, but
// older, if this copy lacks what was seen here, and not running, if the node at work on it died.
func (h *Home) Standing(ctx context.Context, s perdure.Store, a *perdure.Agent, now time.Time) (phase.Standing, error) {
	trust, err := h.Trust()
	if err != nil {
		return "", err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return "", err
	}
	is := a.Standing(trust, place, now)
	if is == phase.StandingRunning { // else nobody need be at work on it
		at, err := view.AttendanceOf(ctx, s)
		if err != nil {
			return "", err
		}
		is = at.Standing(is, a, now)
	}
	older, err := h.Behind(ctx, s, a)
	return older.Standing(is), err
}

// storePath is the store as a witness notes it.
func (h *Home) storePath() string {
	if h.agent != "" { // a file that is run is a store of its own
		if path, err := filepath.Abs(h.agent); err == nil {
			return path
		}
	}
	if path, err := filepath.Abs(h.File); err == nil && h.remote == "" {
		return path
	}
	return h.File
}

// isStore reports whether a witness noted this store. One that lies in the folder of its home does so wherever the home
// was when it was noted: it may have been copied or moved since.
func (h *Home) isStore(noted string) bool {
	return noted == h.storePath() ||
		h.Scheme == "sqlite" && h.remote == "" && h.agent == "" && filepath.Base(noted) == filepath.Base(h.File)
}

// Inbox is what waits for a person: what the agents of a store ask (view.Inbox), and copies of them that are older than
// what was seen here. What could not be read is said in faults.
func (h *Home) Inbox(ctx context.Context, s perdure.Store, now time.Time) (found []view.Wait, faults error, err error) {
	trust, err := h.Trust()
	if err != nil {
		return nil, nil, err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if found, faults, err = view.Inbox(ctx, s, trust, place, h.nodeKey(), now); err != nil {
		return nil, nil, err
	}
	l, err := view.Lister(s)
	if err != nil {
		return nil, nil, err
	}
	var all []perdure.Listing
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			faults = errors.Join(faults, unlisted(err))
			break
		}
		if one.State != phase.Terminated {
			all = append(all, one)
		}
	}
	older, err := h.olderOf(ctx, s, all)
	return append(found, older...), faults, err
}

// sighted is how many agents were seen in this store and are missed if they are not there.
func (h *Home) sighted() (n int64, err error) {
	w, err := h.lookWitness()
	if w == nil || err != nil {
		return 0, err
	}
	for one, err := range w.Sightings() {
		if err != nil {
			return n, err
		}
		if !one.Elsewhere {
			n++
		}
	}
	return n, nil
}

// Forget no longer misses the agents that were seen in this store and are not in it any more. How far they had come is
// kept: an old copy that turns up is not to do again what was done since.
func (h *Home) Forget(ctx context.Context, s perdure.Store) (gone []perdure.AgentID, err error) {
	w, err := h.witness()
	seen, ok := w.(*sqlite.Witness)
	if !ok || err != nil {
		return nil, err
	}
	if l, ok := s.(interface{ LetGo(context.Context) error }); ok {
		if err := l.LetGo(ctx); err != nil {
			return nil, err
		}
	}
	for one, err := range seen.Sightings() {
		if err != nil {
			return gone, err
		}
		if one.Elsewhere {
			continue
		}
		switch _, err := s.Heads(ctx, one.Agent); {
		case errors.Is(err, perdure.ErrNotFound):
			if err := seen.Unplace(one.Agent); err != nil {
				return gone, err
			}
			gone = append(gone, one.Agent)
		case ctx.Err() != nil:
			return gone, ctx.Err()
		}
	}
	return gone, nil
}

// rolledBack says what this home has seen of an agent that its memory lacks; nil: nothing, or the memory cannot be
// folded.
func (h *Home) rolledBack(ctx context.Context, s perdure.Store, id perdure.AgentID) (*view.Older, error) {
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return nil, ctx.Err() // verify says what is wrong with it
	}
	return h.Behind(ctx, s, a)
}
