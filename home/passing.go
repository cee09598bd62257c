package home

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/view"
)

// Local is the store of a desk as a place that agents are passed to and from, by a visitor: what arrives is checked as
// every arrival is.
type Local struct {
	Desk    *Desk
	Visitor *Visitor
	// Challenge is signed with the receipt of what the visitor sends; zero: they sent none.
	Challenge perdure.Hash
	At        string // the address by which it came, if that is known to be one of this server

	from   string  // the place that is pulled from; empty: the visitor sends what arrives
	moves  bool    // the agent that passes takes its seat along
	within *bounds // of what passes by itself; nil: somebody named it
}

var (
	_ exchange.Peer   = Local{}
	_ exchange.Knower = Local{}
)

// Offer says what there is of an agent for the visitor.
func (l Local) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	d, none := l.Desk, exchange.Offer{Agent: id}
	if err := l.Visitor.May(VerbRead); err != nil {
		return none, err
	}
	o, err := exchange.Of(ctx, d.Store, id)
	if err != nil {
		return none, err
	}
	if o.Has() {
		if !d.Shows(ctx, l.Visitor, id) {
			return none, nil
		}
		var b *aside
		if o.Kept, b, err = l.kept(ctx, id); err != nil {
			return none, err
		}
		if b != nil {
			o.Heads = b.heads
			o.Anchors = slices.DeleteFunc(o.Anchors, func(h perdure.Hash) bool { return b.held[h] })
		}
	}
	if l.Visitor.May(VerbImport) != nil || d.Home.Dir == "" {
		return o, nil
	}
	o.Partial, err = d.Home.arriving(id, l.sender())
	return o, err
}

// sender tells whoever sends what arrives from all others. What broke off lies here unchecked: nobody else's transfer
// goes on with it, waits for it, or is told what it is.
func (l Local) sender() string {
	if l.from == "" {
		return l.Visitor.ID()
	}
	return l.Visitor.ID() + " from " + l.from
}

// kept is why nothing of an agent is passed on from here; empty: it is, or what is beside the holds it is under here.
// Of what waits for somebody to admit it nothing is, so that nobody elsewhere is told to wait, too; but whoever
// answered it here beside that is heard.
func (l Local) kept(ctx context.Context, id perdure.AgentID) (string, *aside, error) {
	d := l.Desk
	if why, err := l.outside(ctx, id); err != nil || why != "" {
		return why, nil, err
	}
	depth, err := perdure.DepthOf(ctx, d.Store, id)
	if err != nil {
		return "", nil, err
	}
	if depth != perdure.Full {
		return "only a part of its memory is here: " + depth.Words(), nil, nil
	}
	a, err := d.Load(ctx, id)
	if _, folder := d.Store.(*dir.Store); err == nil && !d.Home.Looks && !folder { // which lists its files as they are
		err = relist(ctx, d.Store, a)
	}
	if err != nil {
		return "", nil, err
	}
	trust, err := d.Home.Trust()
	if err != nil {
		return "", nil, err
	}
	if held := trust.Counts(a); held != nil {
		return "it is held where it is: " + view.HeldText(held), nil, nil
	}
	if a.Fold().SeatLoose() && !l.moves {
		place, err := d.Home.PlaceOf(ctx, d.Store)
		return "its seat was handed over to whoever takes it first: every further copy would have it as well, and " +
			"what must happen once could happen twice; where it is: " + looseHint(a, place), nil, err
	}
	hold, err := arrivalHold(ctx, d.Store, a)
	if hold {
		if b := answered(a); b != nil {
			return "", b, nil
		}
		why := "it waits until somebody admits it in the home where it is: perdure resume " + a.ID().Short() +
			", if the place it goes to trusts that home as an author; an answer to what it asks passes without that"
		return why, nil, err
	}
	return "", nil, err
}

// aside is what of an agent is not of the holds it is under here.
type aside struct {
	heads []perdure.Hash
	held  map[perdure.Hash]bool // the rest: the holds, and what follows them
}

// answered is what is beside the holds of an agent, if there is an answer to a question there; nil: there is none.
func answered(a *perdure.Agent) *aside {
	heads, held := a.BesideHolds()
	answer, hold := int64(-1), int64(0)
	for e := range a.Recent() {
		ev, _ := e.Content().(perdure.Event)
		if _, answers := ev.Notice.(perdure.Approval); answers && !held[e.Name] {
			answer = max(answer, e.Seq)
		}
		if held[e.Name] {
			hold = e.Seq // the first is the last seen
		}
	}
	if len(heads) == 0 || answer < hold { // it was there before
		return nil
	}
	return &aside{heads, held}
}

// arrivalHold reports whether an agent is paused because it arrived and nobody has admitted it yet.
func arrivalHold(ctx context.Context, s perdure.Store, a *perdure.Agent) (bool, error) {
	paused := slices.Clone(a.Fold().Paused)
	if len(paused) == 0 {
		return false, nil
	}
	for e, err := range perdure.Backwards(ctx, s, a.ID(), nil) {
		if err != nil {
			return false, err
		}
		i := slices.Index(paused, e.Name)
		if i >= 0 && e.IsHold() {
			return true, nil
		}
		if i >= 0 {
			paused = slices.Delete(paused, i, i+1)
		}
		if len(paused) == 0 {
			break
		}
	}
	return false, nil
}

// Known is what is here of what another place offers.
func (l Local) Known(ctx context.Context, o exchange.Offer) ([]perdure.Hash, bool, error) {
	return exchange.Known(ctx, l.Desk.Store, o)
}

// Missing yields what is here and a place with this offer lacks.
func (l Local) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		b, err := l.release(ctx, o.Agent)
		if err != nil {
			yield(nil, err)
			return
		}
		for e, err := range exchange.Missing(ctx, l.Desk.Store, o) {
			if err == nil && b != nil && b.held[e.Name] {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// release refuses what is not passed on to the visitor, and says to what the rest is confined; nil: to nothing.
func (l Local) release(ctx context.Context, id perdure.AgentID) (*aside, error) {
	d, v := l.Desk, l.Visitor
	if err := v.May(VerbExport); err != nil {
		return nil, err
	}
	if _, err := d.Store.Heads(ctx, id); err != nil || !d.Shows(ctx, v, id) {
		if err == nil || errors.Is(err, perdure.ErrNotFound) {
			err = missing(id.Short())
		}
		return nil, err
	}
	why, b, err := l.kept(ctx, id)
	if err == nil && why != "" {
		err = fmt.Errorf("%w: agent %s is not passed on: %s", perdure.ErrDenied, id.Short(), why)
	}
	return b, err
}

// Take adds what arrives of an agent: to the one that is here if its entries count, else as an import of a new one.
// What came of it is signed with this home's key.
func (l Local) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	_ *exchange.Receipt, err error) {
	d, v := l.Desk, l.Visitor
	if err := d.mayAdd(ctx, v, id); err != nil && !errors.Is(err, perdure.ErrNotFound) {
		return nil, err // nothing of what is refused in the end lies here meanwhile
	}
	s, err := d.Home.openSpool(id, l.sender())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if d.MaxArrival > 0 {
		s.most = d.MaxArrival
	}
	if err := s.fill(entries); err != nil {
		return nil, s.roomless(err)
	}
	ctx = context.WithoutCancel(ctx) // all of it is here: who sent it may be gone
	r, err := l.admit(ctx, s)
	if err == nil || errors.Is(err, perdure.ErrRejected) || errors.Is(err, perdure.ErrDenied) ||
		errors.Is(err, perdure.ErrInvalid) {
		s.drop = true // else it is tried again with what is here
	}
	if err != nil {
		return nil, s.roomless(err)
	}
	key, err := d.Home.Signer(ctx)
	if err != nil {
		return nil, err
	}
	r.Challenge, r.At = l.Challenge, l.At
	r.Time = time.Now().UTC().Truncate(time.Millisecond)
	return r, r.Sign(key)
}

// admit checks what came, and adds it.
func (l Local) admit(ctx context.Context, s *spool) (*exchange.Receipt, error) {
	d, v, id := l.Desk, l.Visitor, s.id
	done, err := d.Turns.Take(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	held, err := d.Store.Heads(ctx, id)
	if errors.Is(err, perdure.ErrNotFound) {
		return l.admitNew(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	if err := d.mayAdd(ctx, v, id); err != nil {
		return nil, err
	}
	trust, err := d.Home.Trust()
	if err != nil {
		return nil, err
	}
	if err := d.Home.expect(ctx, d.Store, id, held); err != nil {
		return nil, err
	}
	key, err := d.Home.Signer(ctx)
	if err != nil {
		return nil, err
	}
	_, added, err := capsule.Join(ctx, d.Store, id, s.entries(), capsule.ImportOptions{Trust: trust, Key: key})
	if err != nil {
		return nil, err
	}
	a, err := d.Home.arrive(ctx, d.Store, id, held, added > 0)
	if err != nil {
		return nil, err
	}
	r := &exchange.Receipt{Agent: id, Heads: a.Heads(), Entries: int64(added)}
	if held := trust.Counts(a); held != nil {
		r.Held = view.HeldText(held)
	}
	return r, nil
}

// admitNew takes in an agent that is not here, as a capsule that is imported.
func (l Local) admitNew(ctx context.Context, s *spool) (_ *exchange.Receipt, err error) {
	if s.size == 0 {
		return nil, perdure.Invalid(fmt.Errorf("nothing of agent %s came, and it is not here", s.id.Short()))
	}
	if err := l.welcome(ctx, s); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(s.f.Name()), "new-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := s.capsule(ctx, dir)
	if part := new(capsule.Partial); errors.As(err, &part) {
		return nil, &perdure.Rejection{Phase: "lineage", Predicate: "body.present", Path: "$.body", Got: "absent",
			Want: "the whole memory of an agent that is not here", Hint: "a part of a memory travels as a file: " +
				"perdure export, then perdure import"}
	}
	if refused := new(perdure.Rejection); errors.As(err, &refused) {
		return nil, refused // where it lay here is nothing to its sender
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	got, err := l.Desk.Import(ctx, l.Visitor, f, &capsule.Head{Agent: s.id}, true)
	if err != nil {
		return nil, err
	}
	r := &exchange.Receipt{Agent: s.id, Heads: got.Heads, Entries: got.Entries, Created: true}
	switch {
	case got.Held:
		r.Held = view.HeldText(got.From.Stranger)
	case !got.From.Hold.IsZero():
		r.Held = "it arrived paused: " + got.Reason + "; to admit it, in the home where it arrived: perdure resume " +
			got.Now.ID().Short()
	}
	return r, nil
}

// capsule is what came as a capsule, in a folder that is dropped later.
func (s *spool) capsule(ctx context.Context, dir string) (*os.File, error) {
	path := filepath.Join(dir, "new"+capsule.Ext)
	staged, err := capsule.StageLog(path, capsule.Binary, s.id, perdure.Full, s.entries())
	if err == nil {
		err = staged.Place()
	}
	if err != nil {
		return nil, err
	}
	from, err := capsule.LookStore(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "whole"+capsule.Ext))
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	_, err = capsule.Export(ctx, f, from, s.id, capsule.Options{})
	if err = errors.Join(err, from.Close()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
