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
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// PlaceOf is where the agents of a store have their seat: the store. A file that is run is part of the store of its
// home: the home remembers how far it has come, and lets one copy at a time go on (see Alone). Zero: it has none yet,
// and nothing is written to give it one.
func (h *Home) PlaceOf(ctx context.Context, s perdure.Store) (perdure.Place, error) {
	if p, ok := s.(perdure.Placed); ok {
		at, err := p.Place(ctx)
		return h.formerly(at), err
	}
	if h.Dir == "" {
		return perdure.Place{}, nil
	}
	at, err := h.ownPlace(ctx)
	return h.formerly(at), err
}

// seatArrived takes the seat of an agent that a store has handed over of which this one is a copy, if that was told
// here only now, after the heads held, or those before an arrival that was cut off: whoever brought it meant this
// store. What was here before was handed over to somebody else before the copy was made.
func (h *Home) seatArrived(ctx context.Context, n *perdure.Node, a *perdure.Agent, held []perdure.Hash) (err error) {
	f := a.Fold()
	at, err := h.PlaceOf(ctx, n.Store)
	if err != nil || f.HandedOver(at) && n.Trusted().Counts(a) != nil {
		return err // it may count once it is imported again
	}
	if before, noted := h.expected(at, a.ID()); noted {
		held = before
	}
	defer func() {
		if err == nil {
			h.unexpect(at, a.ID())
		}
	}()
	if !f.HandedOver(at) || f.Seats[0].At == at.ID {
		return nil
	}
	left := slices.Clone(held)
	for item, err := range n.Store.Entries(ctx, a.ID(), 0) { // what was here before comes first
		if err != nil || len(left) > 0 && item.Name == f.Seats[0].Claim {
			return err
		}
		if left = slices.DeleteFunc(left, func(h perdure.Hash) bool { return h == item.Name }); len(left) == 0 {
			break
		}
	}
	for try := range 50 { // a node that looks at what has arrived has it for a moment
		if err = n.TakeGiven(ctx, a.ID()); !errors.Is(err, perdure.ErrConflict) {
			return err
		}
		time.Sleep(min(time.Duration(try+1)*10*time.Millisecond, 200*time.Millisecond))
	}
	return perdure.WithHint(err, "once nobody is at work on it, import it again, which takes its seat")
}

// ownPlace is the place of the home's own store.
func (h *Home) ownPlace(ctx context.Context) (perdure.Place, error) {
	if h.remote != "" {
		return h.enginePlace(ctx)
	}
	if h.Scheme == "dir" {
		return dir.Place(h.File, h.Looks)
	}
	if !h.Looks {
		if err := h.MakeHome(); err != nil {
			return perdure.Place{}, err
		}
	}
	return sqlite.Place(h.File, h.Looks)
}

// ErrFileOut says that a seat was handed over into a file, which somebody may still import.
var ErrFileOut = errors.New("it was handed over into a file: whoever imports that, or a copy of it, has the seat as " +
	"well, and what must happen once can happen twice")

// SeatsTaken is what seat take prints.
type SeatsTaken struct {
	Agents   []perdure.AgentID `json:"agents"`
	Already  []perdure.AgentID `json:"already,omitempty"`  // whose seat is here anyway: nothing was changed
	Recalled []perdure.AgentID `json:"recalled,omitempty"` // of these, those whose file must not be imported any more
	Failed   []seatFailure     `json:"failed,omitempty"`
}

// String is what was taken, in lines.
func (r *SeatsTaken) String() string {
	var text string
	if n := int64(len(r.Agents)); n > 0 || len(r.Already) == 0 {
		if text = "no seat taken: there is none to take here"; n > 0 {
			text = view.Several(n, "seat") + " taken: what must happen once is decided here now\n" +
				"what was done where the seat was, and is not in the memory here, may be done again: make " +
				"sure nothing is still running there"
		}
	}
	if n := int64(len(r.Already)); n > 0 {
		text += "\n" + view.Several(n, "seat") + " here already: nothing was changed"
	}
	if n := int64(len(r.Recalled)); n > 0 {
		text += "\nwhat was handed over of " + view.Several(n, "agent") +
			" must not be taken in any more, anywhere: destroy it"
	}
	for _, f := range r.Failed {
		text += "\n" + view.CalledBy(f.Name, f.Agent) + ": " + view.OneLine(f.Why, 0)
	}
	return strings.TrimPrefix(text, "\n")
}

// TakeSeats takes the seats of agents, and says of which it could not. One that this store handed over into a file is
// taken back only if that file is destroyed: whoever imports it cannot know that the seat was taken back.
func (h *Home) TakeSeats(ctx context.Context, s perdure.Store, names []string, all bool, why string,
	destroyed bool) (*SeatsTaken, error) {
	n, err := h.Node(ctx, s)
	if err != nil {
		return nil, err
	}
	ids, err := h.namedIDs(ctx, s, names)
	if all && err == nil {
		ids, err = allIDs(ctx, s, true)
	}
	if err != nil {
		return nil, err
	}
	r := &SeatsTaken{Agents: []perdure.AgentID{}}
	var first error
	for i, id := range ids {
		out, here, err := h.seatOut(ctx, s, id)
		if here {
			r.Already = append(r.Already, id)
			continue
		}
		if err == nil && !destroyed {
			err = out
		}
		if err == nil {
			err = n.TakeSeat(ctx, id, why)
		}
		if err == nil {
			if r.Agents = append(r.Agents, id); out != nil {
				r.Recalled = append(r.Recalled, id)
			}
		} else {
			r.Failed = append(r.Failed, seatFailure{id, nameOf(ctx, s, id), withDo(err)})
			first = cmp.Or(first, err)
		}
		h.Progressed("take seats", int64(i+1), int64(len(ids)))
	}
	if len(ids) == 1 && first != nil {
		return nil, first
	}
	if first != nil {
		first = &someFailed{fmt.Sprintf("%d of %s could not be taken", len(r.Failed),
			view.Several(int64(len(ids)), "seat")), first}
	}
	return r, first
}

// seatOut says what speaks against taking the seat of an agent, if this store handed it over, even where only what was
// seen here tells, and has not seen anybody take it; and whether the seat is here.
func (h *Home) seatOut(ctx context.Context, s perdure.Store, id perdure.AgentID) (out error, here bool, err error) {
	a, err := h.Load(ctx, s, id)
	if err != nil {
		return nil, false, err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return nil, false, err
	}
	older, err := h.Behind(ctx, s, a)
	if err != nil {
		return nil, false, err
	}
	f := a.Fold()
	switch {
	case older != nil && older.Given:
		return perdure.WithHint(fmt.Errorf("take the seat of %s: %w: %s: whoever has it has the seat, and what must "+
			"happen once can happen twice", view.Called(a), perdure.ErrDenied, view.SinceGiven),
			"import the newer copy; or, if it is lost where it went, add --yes"), false, nil
	case f.HandedOver(place):
		return stillOut(NameOf(ctx, s, id), f.Seats[0].To), false, nil
	}
	return nil, view.SeatOf(f, place) == view.SeatHere, nil
}

// stillOut refuses to take a seat back that somebody may have by now.
func stillOut(name string, to perdure.Key) error {
	if to.IsZero() {
		return perdure.WithHint(fmt.Errorf("take the seat of %s: %w: %w", name, perdure.ErrDenied, ErrFileOut),
			"make sure that nobody has imported it, destroy it and its copies, and add --yes")
	}
	return perdure.WithHint(fmt.Errorf("take the seat of %s: %w: %w %s: its node may have taken it, and what must "+
		"happen once can happen twice", name, perdure.ErrDenied, errHandedOver, to.Short()),
		"look there first (perdure nodes "+name+"); if the agent never arrived there, and nobody can bring it there "+
			"any more, add --yes")
}

// errHandedOver says that a seat was handed over to the node of a key, which may have taken it.
var errHandedOver = errors.New("it was handed over to key")

// seatFailure is a seat that was not taken, and why.
type seatFailure struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
	Why   string          `json:"why"`
}

// someFailed says in its own words that some of many failed, of the kind the first did.
type someFailed struct {
	text  string
	first error
}

func (e *someFailed) Error() string        { return e.text }
func (e *someFailed) Is(target error) bool { return errors.Is(e.first, target) }

// withDo is an error and what to do about it, in one line.
func withDo(err error) string {
	if hint := new(perdure.Hint); errors.As(err, &hint) {
		return err.Error() + "; " + hint.Do
	}
	return err.Error()
}

// NameOf is what people call an agent: its name as the store lists it, or the beginning of its id.
func NameOf(ctx context.Context, s perdure.Store, id perdure.AgentID) string {
	return cmp.Or(view.ShownName(nameOf(ctx, s, id)), id.Short())
}

// nameOf is the name of an agent as the store lists it; "" if it has none.
func nameOf(ctx context.Context, s perdure.Store, id perdure.AgentID) string {
	if l, err := view.Lister(s); err == nil {
		for one := range l.List(ctx, perdure.Filter{Prefix: id.String(), Limit: 1}) {
			return one.Name
		}
	}
	return ""
}

// Seated is where the seat of an agent is.
type Seated struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Here     bool            `json:"here"`
	Standing string          `json:"standing"` // here, elsewhere, handed over, disputed or free
	Place    perdure.Hash    `json:"place,omitzero"`
	Seats    []perdure.Seat  `json:"seats"`
	Text     string          `json:"-"` // for people
}

// Seated says where the seat of an agent is, as of the store.
func (h *Home) Seated(ctx context.Context, s perdure.Store, a *perdure.Agent) (*Seated, error) {
	at, err := h.PlaceOf(ctx, s)
	if err != nil {
		return nil, err
	}
	older, err := h.Behind(ctx, s, a)
	if err != nil {
		return nil, err
	}
	f := a.Fold()
	standing, text := view.SeatOf(f, at), view.SeatText(f, at)
	if older != nil && older.Given {
		standing, text = view.SeatGiven, view.SinceGiven
	}
	return &Seated{f.Agent, f.Intent.Name, standing == view.SeatHere, standing, at.ID, f.Seats, text}, nil
}
