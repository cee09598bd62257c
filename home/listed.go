package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// Listed is one line of ls: what the index says, and what is wrong with the agent.
type Listed struct {
	perdure.Listing
	Standing phase.Standing `json:"standing"`          // as Listing.Standing says, or: damaged, gone, older
	Depth    string         `json:"depth,omitempty"`   // how much of its memory is here
	Damaged  string         `json:"damaged,omitempty"` // why it cannot be read
	Older    *view.Older    `json:"older,omitempty"`
	Apart    string         `json:"apart,omitempty"` // of one that nodes here do nothing for: when they will; -: never
	view.Sent

	says string // what is wrong with it, as a server puts it
}

// header reads the heads of agents as far as the store knows them without reading memories.
type header interface {
	Tops(ctx context.Context) (map[perdure.AgentID][]perdure.Hash, error)
}

// Check finds what is wrong with the agents that are listed, as far as their heads tell, and adds those that are
// damaged or gone. All says that nothing was left out of the list.
func (h *Home) Check(ctx context.Context, s perdure.Store, found []perdure.Listing, all bool) (out []Listed,
	err error) {
	defer func() {
		now := time.Now()
		for i := range out {
			out[i].Standing = out[i].said(now)
		}
		if err == nil {
			err = h.unattended(ctx, s, out, now)
		}
		if err == nil {
			err = h.strangers(ctx, s, out, now)
		}
	}()
	out = make([]Listed, len(found))
	known := map[perdure.AgentID]bool{}
	heads, err := headsOf(ctx, s, all || len(found) > maxSingly)
	if err != nil {
		return nil, err
	}
	w, err := h.lookWitness()
	if err != nil {
		return nil, err
	}
	seen, err := sighted(w, found, all)
	if err != nil {
		return nil, err
	}
	for i, one := range found {
		known[one.Agent] = true
		if out[i], err = h.checkOne(ctx, s, one, seen[one.Agent].Heads, heads); err != nil {
			return nil, err
		}
		if d, err := perdure.DepthOf(ctx, s, one.Agent); err == nil {
			out[i].Depth = d.String()
		}
	}
	if err := h.sample(ctx, s, out); err != nil {
		return nil, err
	}
	if !all {
		return out, nil
	}
	ill, err := h.ailing(ctx, s)
	if err != nil {
		return nil, err
	}
	for id, x := range ill {
		if !known[id] {
			known[id] = true
			out = append(out, Listed{Listing: perdure.Listing{Agent: id, Name: x.Name}, Damaged: x.Reason.Error()})
		}
	}
	for id, one := range seen {
		if known[id] || one.Elsewhere {
			continue
		}
		if _, err := s.Heads(ctx, id); errors.Is(err, perdure.ErrNotFound) {
			gone := &view.Older{Seen: one.At, Missing: one.Seq + 1, Gone: true, Name: id.Short()}
			out = append(out, Listed{Listing: perdure.Listing{Agent: id}, Older: gone})
		}
	}
	more := out[len(found):]
	slices.SortFunc(more, func(a, b Listed) int { return perdure.Hash(a.Agent).Compare(perdure.Hash(b.Agent)) })
	return out, nil
}

// headsOf finds the heads of agents, those of many at once where the store can.
func headsOf(ctx context.Context, s perdure.Store, many bool) (func(perdure.AgentID) ([]perdure.Hash, error), error) {
	t, ok := s.(header)
	if !ok || !many {
		return func(id perdure.AgentID) ([]perdure.Hash, error) { return s.Heads(ctx, id) }, nil
	}
	tops, err := t.Tops(ctx)
	return func(id perdure.AgentID) ([]perdure.Hash, error) { return tops[id], nil }, err
}

// maxSingly is of how many agents of a page it is looked up one by one what is known of them: what is known of all is
// read at once only for lists that are longer.
const maxSingly = 1000

// sightedOf is what was seen of the agents of a page.
func (h *Home) sightedOf(found []perdure.Listing) (map[perdure.AgentID]sqlite.Sighting, error) {
	w, err := h.lookWitness()
	if err != nil {
		return nil, err
	}
	return sighted(w, found, false)
}

// sighted is what a witness has seen of the agents of a list, or of all.
func sighted(w *sqlite.Witness, found []perdure.Listing, all bool) (map[perdure.AgentID]sqlite.Sighting, error) {
	seen := map[perdure.AgentID]sqlite.Sighting{}
	if w == nil {
		return seen, nil
	}
	if !all && len(found) <= maxSingly {
		for _, one := range found {
			x, err := w.Sighting(one.Agent)
			if err != nil {
				return nil, err
			}
			seen[one.Agent] = x
		}
		return seen, nil
	}
	for one, err := range w.Sightings() {
		if err != nil {
			return nil, err
		}
		seen[one.Agent] = one
	}
	return seen, nil
}

// sampled is how many entries a list reads to see whether memories can be read: it must stay quick. Doctor reads all of
// them.
const sampled = 5000

// sample reads memories of those listed, the ones that changed last first, and notes which cannot be read: an index
// says of a damaged agent what it said before. What is in them is not folded.
func (h *Home) sample(ctx context.Context, s perdure.Store, found []Listed) error {
	if h.Scheme == "dir" {
		return nil // its files are read to be listed
	}
	order := make([]*Listed, 0, len(found))
	for i := range found {
		order = append(order, &found[i])
	}
	slices.SortStableFunc(order, func(a, b *Listed) int { return cmp.Compare(b.Updated, a.Updated) })
	left := sampled
	for _, one := range order {
		for _, err := range s.Entries(ctx, one.Agent, 0) {
			if left--; err != nil || left <= 0 {
				if err != nil && ctx.Err() == nil && !errors.Is(err, perdure.ErrNotFound) && one.Damaged == "" {
					one.Damaged = "it cannot be read: " + err.Error()
				}
				break
			}
		}
		if left <= 0 || ctx.Err() != nil {
			break
		}
	}
	return ctx.Err()
}

// ailing is the agents a store knows to be damaged.
func (h *Home) ailing(ctx context.Context, s perdure.Store) (map[perdure.AgentID]perdure.Ailment, error) {
	if x, ok := s.(perdure.Healer); ok {
		return x.Ailing(ctx)
	}
	return nil, nil
}

// checkOne compares the heads of an agent with those that were seen, and reads its memory only where they differ.
func (h *Home) checkOne(ctx context.Context, s perdure.Store, one perdure.Listing, seen []perdure.Hash,
	heads func(perdure.AgentID) ([]perdure.Hash, error)) (Listed, error) {
	out := Listed{Listing: one}
	now, err := heads(one.Agent)
	if err == nil && (len(seen) == 0 || slices.Equal(now, seen)) {
		return out, nil
	}
	var a *perdure.Agent
	if err == nil {
		a, err = perdure.Load(ctx, s, one.Agent)
	}
	if err == nil {
		out.Older, err = h.Behind(ctx, s, a)
	}
	if err == nil && one.State == phase.Terminated {
		var trust *perdure.Trust
		if trust, err = h.Trust(); err == nil && trust.Ended(a) == nil {
			out.Listing = a.Believed(trust, time.Now())
		}
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.Damaged = err.Error()
	}
	return out, nil
}

// List are the agents of a store that a filter selects, each with what is wrong with it; without one also those that
// were seen here and are gone.
func (h *Home) List(ctx context.Context, s perdure.Store, f perdure.Filter) ([]Listed, error) {
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	var found []perdure.Listing
	for one, err := range l.List(ctx, f) {
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return h.Check(ctx, s, found, everything(&f))
}

// Next is when a node looks at the agent, for people.
func (l *Listed) Next(now time.Time) string {
	switch {
	case l.State == phase.Terminated:
		return "-"
	case l.Apart != "":
		return l.Apart
	case l.Standing == phase.StandingOlder || l.Standing == phase.StandingGone || l.Standing == phase.StandingDamaged,
		l.Standing == phase.StandingWaiting && !l.Due.Go().After(now):
		return "once a person acts"
	case l.Due == 0:
		return "on an event"
	case !l.Due.Go().After(now):
		return "now"
	}
	return "in " + view.Span(l.Due.Go().Sub(now))
}

// unlisted says that agents are missing from a list.
func unlisted(err error) error {
	return fmt.Errorf("there may be more: the list of agents could not be read to its end: %w", err)
}

// WrongText is Wrong in one line, also of an agent behind a server.
func (l *Listed) WrongText() string {
	if what, fix := l.Wrong(); strings.Contains(what, "perdure doctor --repair") { // a store says what to do, too
		return what
	} else if what != "" {
		return what + "; " + fix
	}
	return l.says
}

// Wrong is what is wrong with an agent that is listed, and what to do; empty: nothing.
func (l *Listed) Wrong() (what, fix string) {
	switch {
	case l.Damaged != "":
		return view.CalledBy(l.Name, l.Agent) + " is damaged: " + l.Damaged,
			"perdure doctor --repair, or import a good copy"
	case l.Older != nil && l.Older.Gone:
		return l.Older.What(), l.Older.Fix()
	case l.Older != nil:
		return view.CalledBy(l.Name, l.Agent) + ": " + l.Older.What(), l.Older.Fix()
	}
	return "", ""
}

// unattended corrects the standing of agents that were at work when their node died: nobody runs them now.
func (h *Home) unattended(ctx context.Context, s perdure.Store, out []Listed, now time.Time) error {
	at, err := view.AttendanceOf(ctx, s)
	if err != nil || !at.Known {
		return err
	}
	for i := range out {
		l := &out[i]
		runs := l.Standing == phase.StandingRunning && !at.Held(l.Agent)
		if l.Damaged != "" || l.Older != nil || !at.Died(l.Agent) && !runs {
			continue
		}
		a, err := h.Load(ctx, s, l.Agent)
		if err != nil {
			continue // what is wrong with it is said elsewhere
		}
		if is := at.Standing(phase.StandingRunning, a, now); is != phase.StandingRunning {
			l.Standing = is
		}
	}
	return nil
}

// maxApart is of how many agents of a list it is looked up whether this home goes on with them: it takes their
// memories.
const maxApart = 256

// strangers finds those that a node here does nothing for, whatever their lines say: whoever wrote the line did not
// know whom this home trusts, or where its store is.
func (h *Home) strangers(ctx context.Context, s perdure.Store, out []Listed, now time.Time) error {
	if len(out) > maxApart {
		return nil
	}
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return err
	}
	for i := range out {
		l := &out[i]
		if l.Damaged != "" || l.Older != nil || l.State == phase.Terminated {
			continue
		}
		held, _ := trust.Strange(ctx, s, l.Agent) // what strangers wrote is not folded to be listed
		if held == nil {
			a, err := h.Load(ctx, s, l.Agent)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				continue // what is wrong with it is said elsewhere
			}
			switch held = trust.Counts(a); {
			case held != nil:
			case a.GoneOn(place):
				l.Standing, l.Waiting, l.Apart = a.Standing(trust, place, now), false, "-"
			default:
				l.Apart = needs(view.Unable(a, trust, h.nodeKey(), now))
				if is := a.Standing(trust, place, now); is == phase.StandingWaiting { // for its seat; as Summary.Seated
					l.Standing, l.Waiting = is, true
				}
			}
		}
		if held != nil {
			l.Standing, l.Waiting, l.Apart = phase.StandingWaiting, true, "once admitted"
		}
	}
	return nil
}

// needs says when an agent goes on that needs something; empty: nothing.
func needs(what string) string {
	if what == "" {
		return ""
	}
	return "needs " + what
}

// said is where an agent stands, or what is wrong with it.
func (l *Listed) said(now time.Time) phase.Standing {
	if l.Damaged != "" {
		return phase.StandingDamaged
	}
	return l.Older.Standing(l.Listing.Standing(now))
}
