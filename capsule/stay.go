package capsule

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// Join adds entries that another place sent to an agent that is in a store, all or none, as Trust.Join does, and keeps
// it held here, or not, as it is: see ImportOptions. Without a Key it refuses entries that would change that.
func Join(ctx context.Context, s perdure.Store, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error],
	o ImportOptions) (*perdure.Agent, int, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	told, err := tells(entries)
	if err != nil {
		return nil, 0, fmt.Errorf("join agent %s: %w", id.Short(), err)
	}
	if !told {
		return o.Trust.Join(ctx, s, id, entries)
	}
	for try := 1; ; try++ {
		a, added, err := o.joinHeld(ctx, s, id, entries)
		if !errors.Is(err, perdure.ErrConflict) || try == mergeTries {
			return a, added, err
		}
	}
}

// joinHeld tries once to Join entries that say of an agent that it is held somewhere, or is not. What keeps it as it is
// here counts for it as it was when that was found out: somebody may have admitted it since.
func (o *ImportOptions) joinHeld(ctx context.Context, s perdure.Store, id perdure.AgentID,
	entries iter.Seq2[*perdure.Entry, error]) (*perdure.Agent, int, error) {
	heads, err := s.Heads(ctx, id)
	var more []*perdure.Entry
	if err == nil {
		more, _, err = o.stay(ctx, s, id, perdure.Full, entries, nil)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("join agent %s: %w", id.Short(), err)
	}
	a, added, err := o.Trust.JoinOn(ctx, s, id, heads, inTurn(entries, each(more)))
	return a, max(added-len(more), 0), err
}

// tells reports whether entries say of an agent that it is held somewhere, or is not.
func tells(entries iter.Seq2[*perdure.Entry, error]) (bool, error) {
	for e, err := range entries {
		if err != nil || tellsOf(e) {
			return err == nil, err
		}
	}
	return false, nil
}

func tellsOf(e *perdure.Entry) bool {
	event, _ := e.Content().(perdure.Event)
	return e.IsHold() || event.LetsGo()
}

// stay is the entries after which an agent is held here as it was before others arrived, whatever those say: a hold is
// a matter of the place that put it. Only people admit an agent, wherever they say so. Whole is the memory as it will
// be, of this depth; nil: what is here, and what arrives after it. Held is the hold the agent was put under again, if
// it was.
func (o *ImportOptions) stay(ctx context.Context, s perdure.Store, id perdure.AgentID, d perdure.Depth, arriving,
	whole iter.Seq2[*perdure.Entry, error]) (more []*perdure.Entry, held perdure.Hash, err error) {
	here, err := o.load(ctx, s, id)
	if err != nil {
		return nil, held, unjudged(err)
	}
	fresh, back := lacking(arriving, recent(here)), perdure.Backwards(ctx, s, id, nil)
	now := inTurn(fresh, back) // what keeps an agent is among the last it was told
	var next *perdure.Agent
	if err = perdure.ErrBehind; whole == nil && d == perdure.Full {
		next, err = later(here, fresh)
	}
	if err != nil {
		known, scanErr := shorts(perdure.Memory(ctx, s, id))
		if scanErr != nil {
			return nil, held, scanErr
		}
		if fresh = lacking(arriving, known); whole == nil {
			whole = inTurn(perdure.Memory(ctx, s, id), fresh)
		}
		now = whole
		next, err = o.fold(d, whole)
	}
	if err != nil {
		return nil, held, unjudged(err)
	}
	before, err := standing(here, back)
	if err != nil {
		return nil, held, err
	}
	after, err := standing(next, now)
	if err != nil || next.Fold().Ended != nil || (len(before) > 0) == (len(after) > 0) {
		return nil, held, err
	}
	if len(after) > 0 {
		if o.Key != nil && (o.Trust == nil || o.Trust.Counts(next) == nil) { // else it does nothing here anyway
			more, _, err = o.Key.LetGo(next, o.Now, after...)
		}
		return more, held, err
	}
	if admitted, err := byPeople(next, before, fresh); err != nil || admitted {
		return nil, held, err
	}
	if o.Key == nil {
		return nil, held, fmt.Errorf("%w: it waits there until somebody admits it", perdure.ErrDenied)
	}
	if more, err = o.Key.Hold(next, o.Now, waits); err == nil {
		held = more[len(more)-1].Name
	}
	return more, held, err
}

// stay is ImportOptions.stay of a capsule that is to join what is here.
func (im *importing) stay(a *Arrival, d Depth, whole iter.Seq2[*perdure.Entry, error]) (more []*perdure.Entry,
	err error) {
	if im.told && im.o.Key != nil {
		more, a.Hold, err = im.o.stay(im.ctx, im.s, a.Head.Agent, d, im.entries(), whole)
	}
	return more, err
}

// standing is the holds among entries that keep an agent from going on.
func standing(a *perdure.Agent, entries iter.Seq2[*perdure.Entry, error]) (holds []*perdure.Entry, err error) {
	paused := a.Fold().Paused
	if len(paused) == 0 {
		return nil, nil
	}
	left := len(paused)
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(paused, e.Name) {
			continue
		}
		if e.IsHold() {
			holds = append(holds, e)
		}
		if left--; left == 0 {
			break
		}
	}
	return holds, nil
}

// laterAtOnce is how many entries are folded at a time.
const laterAtOnce = 256

// later is an agent with entries that follow what it was loaded from. An error says that some do not, or count for
// nothing: whoever wants to know which folds all of the memory.
func later(a *perdure.Agent, fresh iter.Seq2[*perdure.Entry, error]) (*perdure.Agent, error) {
	ends := map[perdure.Hash]bool{} // the entries that none of the others follows
	var some []*perdure.Entry
	for e, err := range fresh {
		if err != nil {
			return nil, err
		}
		ends[e.Name] = true
		for _, p := range e.Parents {
			delete(ends, p)
		}
		if some = append(some, e); len(some) == laterAtOnce {
			if a, err = a.Apply(some...); err != nil {
				return nil, err
			}
			some = nil
		}
	}
	a, err := a.Apply(some...)
	if err != nil {
		return nil, err
	}
	heads := a.Heads()
	for name := range ends {
		if !slices.Contains(heads, name) { // it waits for entries that came long before
			return nil, perdure.ErrBehind
		}
	}
	return a, nil
}

// lacking is the entries but those that are known.
func lacking(entries iter.Seq2[*perdure.Entry, error], known map[short]bool) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for e, err := range entries {
			if (err != nil || !known[short(e.Name[:16])]) && !yield(e, err) {
				return
			}
		}
	}
}

// recent is the names of the entries that an agent still holds, shorts those of any.
func recent(a *perdure.Agent) map[short]bool {
	known := map[short]bool{}
	for e := range a.Recent() {
		known[short(e.Name[:16])] = true
	}
	return known
}

func shorts(entries iter.Seq2[*perdure.Entry, error]) (map[short]bool, error) {
	known := map[short]bool{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		known[short(e.Name[:16])] = true
	}
	return known, nil
}

// byPeople reports whether people ended all of the holds of an agent with one of the entries. What a key says that was
// taken back may be void, and speaks for nobody.
func byPeople(a *perdure.Agent, holds []*perdure.Entry, entries iter.Seq2[*perdure.Entry, error]) (bool, error) {
	for e, err := range entries {
		if err != nil {
			return false, err
		}
		event, _ := e.Content().(perdure.Event)
		if n, ok := event.Notice.(perdure.Resume); ok && !event.LetsGo() &&
			!slices.Contains(a.Fold().Revoked, e.Origin) {
			holds = slices.DeleteFunc(holds, func(h *perdure.Entry) bool { return slices.Contains(n.Of, h.Name) })
		}
	}
	return len(holds) == 0, nil
}

// unjudged is nil for a memory that is refused anyway, by whoever adds to it and knows why.
func unjudged(err error) error {
	if errors.Is(err, perdure.ErrRejected) {
		return nil
	}
	return err
}

// load is the agent that is here, as far as it can be told.
func (o *ImportOptions) load(ctx context.Context, s perdure.Store, id perdure.AgentID) (*perdure.Agent, error) {
	if o.Trust != nil {
		if a, err := o.Trust.Load(ctx, s, id); !errors.Is(err, perdure.ErrRejected) {
			return a, err
		}
	}
	return perdure.Load(ctx, s, id)
}

// fold is load of entries.
func (o *ImportOptions) fold(d perdure.Depth, entries iter.Seq2[*perdure.Entry, error]) (*perdure.Agent, error) {
	if o.Trust != nil && d == perdure.Full {
		if a, err := o.Trust.Fold(entries); !errors.Is(err, perdure.ErrRejected) {
			return a, err
		}
	}
	return d.Fold(entries)
}

// inTurn is one run of entries after the other.
func inTurn(runs ...iter.Seq2[*perdure.Entry, error]) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for _, run := range runs {
			for e, err := range run {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}
