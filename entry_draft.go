package perdure

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/entropy"
	"github.com/perdure/perdure/trace"
)

// Draft is the content of an entry to be written, and what of its header its author chooses.
type Draft struct {
	Body   Body
	Policy Hash          // the policy set in force
	Trace  trace.ID      // W3C trace id; zero: that of what caused it, as memory says
	TTL    time.Duration // how long the body is kept; zero: as the intent says
}

// Genesis writes the first entry of a new agent. A charter without an owner gets the signer as its owner.
func (s *Signer) Genesis(g Genesis, now time.Time) (*Entry, error) {
	e, err := s.genesis(g, now, trace.ID{})
	if err != nil {
		return nil, err
	}
	return e, s.seal(e)
}

// genesis is Genesis without the signature, for a commit that goes on.
func (s *Signer) genesis(g Genesis, now time.Time, trace trace.ID) (*Entry, error) {
	if g.Charter.Owner.IsZero() {
		g.Charter.Owner = s.key
	}
	t := TimeOf(now)
	e := &Entry{Header: Header{Time: t, Due: t, Trace: trace}, content: g}
	return e, s.build(e)
}

// Commit writes one commit on top of everything the agent holds: each entry is linked to the one before and says when a
// node should look next, and the last is signed. It returns the entries and the agent with them; nothing is stored yet.
// Where the agent has more heads than one entry can name, entries that join them come first: the last entries are those
// of the drafts.
func (s *Signer) Commit(a *Agent, now time.Time, drafts ...Draft) ([]*Entry, *Agent, error) {
	entries := make([]*Entry, 0, len(drafts))
	next := a
	for _, d := range drafts {
		joins, joined, err := s.join(next, now, d)
		if err != nil {
			return nil, nil, err
		}
		e, extended, err := s.extend(joined, now, d.on(joined, len(joins)))
		if err != nil {
			return nil, nil, err
		}
		entries, next = append(append(entries, joins...), e), extended
	}
	if len(entries) == 0 {
		return nil, a, nil
	}
	return entries, next, s.seal(entries[len(entries)-1])
}

// join writes the entries that join the heads of an agent until one more can name them all; none, if it can. Each names
// the one before and the newest heads left, so that it comes after everything there is.
func (s *Signer) join(a *Agent, now time.Time, d Draft) ([]*Entry, *Agent, error) {
	total := len(a.fold.Heads)
	if total <= MaxParents {
		return nil, a, nil
	}
	heads := slices.Clone(a.fold.Heads)
	slices.SortFunc(heads, func(x, y Head) int { return cmp.Or(cmp.Compare(y.Seq, x.Seq), x.Name.Compare(y.Name)) })
	body := Event{Name: "joined", By: runtimeName, Notice: Joined{Heads: int64(total)}}
	d = Draft{Body: body, Policy: d.Policy, Trace: d.Trace, TTL: d.TTL}
	var entries []*Entry
	var parents []Hash
	for len(heads)+len(parents) > MaxParents {
		n := MaxParents - len(parents)
		for i := range heads[:n] {
			parents = append(parents, heads[i].Name)
		}
		heads = heads[n:]
		slices.SortFunc(parents, Hash.Compare)
		e, next, err := s.extendOn(a, parents, now, d)
		if err != nil {
			return nil, nil, err
		}
		entries, a, parents = append(entries, e), next, []Hash{e.Name}
	}
	return entries, a, nil
}

// on is the draft as it is to be written on top of an agent whose heads were joined by so many entries: a snapshot is
// of these, too.
func (d Draft) on(a *Agent, joins int) Draft {
	if s, ok := d.Body.(Snapshot); ok && joins > 0 {
		d.Body = Snapshot{Fold: *a.fold.unsaid(leftOut(s.Fold.Inbox))}
	}
	return d
}

// extend writes one entry on top of everything the agent holds, which has no more heads than an entry can name, and
// folds it. It is not signed: the last one of a run must be sealed.
func (s *Signer) extend(a *Agent, now time.Time, d Draft) (*Entry, *Agent, error) {
	return s.extendOn(a, a.Heads(), now, d)
}

// extendOn is extend on top of some of the heads, or of other entries that are at hand.
func (s *Signer) extendOn(a *Agent, parents []Hash, now time.Time, d Draft) (*Entry, *Agent, error) {
	if d.Body == nil {
		return nil, nil, errors.New("write entry: the draft has no body")
	}
	highest, heads := a.fold.highest(parents)
	if !heads {
		highest, _ = a.highest(parents)
	}
	h := Header{Agent: a.ID(), Parents: parents, Seq: 1 + highest, Time: TimeOf(now), Policy: d.Policy,
		Trace: a.trace(&d), TTL: d.TTL.Milliseconds(), Kind: d.Body.kind(), Origin: s.key}
	e := &Entry{Header: h, content: d.Body}
	if next := a.ahead(e); next != nil {
		e.Due = min(next.fold.Due(now), maxAmount)
		if err := s.build(e); err != nil {
			a.fold.takeBack(next.fold)
			return nil, nil, err
		}
		next.named(a, e)
		return e, next, nil
	}
	e.Due = min(a.fold.dueAfter(e, now), maxAmount)
	if err := s.build(e); err != nil {
		return nil, nil, err
	}
	next, err := a.apply([]*Entry{e}, true)
	if r := new(Rejection); errors.As(err, &r) && r.Predicate == predRevoked.Name {
		r.Hint = "this key was revoked in the agent: whoever else may own it goes on with it, or this key with a " +
			"fork of it: perdure fork " + a.ID().Short()
	}
	return e, next, err
}

// dueAfter is when a node should look next once e, which has no name yet, is folded.
func (f *Fold) dueAfter(e *Entry, now time.Time) Time {
	after := folds.Get().(*Fold)
	*after = *f
	after.own = owned{}
	after.step(e, false, f.known(e.Parents))
	due := after.Due(now)
	f.takeBack(after)
	*after = Fold{}
	folds.Put(after)
	return due
}

// takeBack takes back the room that a fold took which is f with one more entry, and of which nothing is kept.
func (f *Fold) takeBack(after *Fold) {
	giveBack(f.Inbox, after.Inbox, f.rooms.inbox, after.rooms.inbox)
	giveBack(f.Dedupe, after.Dedupe, f.rooms.dedupe, after.rooms.dedupe)
	giveBack(f.Conflicts, after.Conflicts, f.rooms.conflicts, after.rooms.conflicts)
	giveBack(f.acts, after.acts, f.rooms.acts, after.rooms.acts)
	giveBack(f.fallen, after.fallen, f.rooms.fallen, after.rooms.fallen)
	giveBack(f.tellers, after.tellers, f.rooms.tellers, after.rooms.tellers)
	giveBack(f.twins, after.twins, f.rooms.twins, after.rooms.twins)
	giveBack(f.unmade, after.unmade, f.rooms.unmade, after.rooms.unmade)
	giveBack(f.made, after.made, f.rooms.made, after.rooms.made)
	giveBack(f.beside, after.beside, f.rooms.beside, after.rooms.beside)
}

// folds are what dueAfter folds into. Nothing of them is left when it returns.
var folds = sync.Pool{New: func() any { return new(Fold) }}

// build encodes an entry, of which the author's part of the header and the content are there, under a fresh salt.
func (s *Signer) build(e *Entry) error {
	rec := saltedBody{Content: e.content}
	if _, err := io.ReadFull(entropy.Reader, rec.Salt[:]); err != nil {
		return fmt.Errorf("write entry: %w", err)
	}
	e.Origin = s.key
	return e.encode(&rec)
}

// encode is e with the bytes of its header and body, and its name.
func (e *Entry) encode(rec *saltedBody) error {
	scratch := drafts.Get().(*[]byte)
	defer drafts.Put(scratch)
	b, err := bodyCodec.Append((*scratch)[:0], rec)
	if err != nil {
		return under(err, "$.body")
	}
	n := len(b)
	e.Version, e.Kind = FormatVersion, rec.Content.kind()
	e.Body, e.Size = HashOf(b), int64(n)
	if b, err = headerCodec.Append(b, &e.Header); err != nil {
		return under(err, "$.header")
	}
	if cap(b) <= maxDraft {
		*scratch = b
	}
	e.body, e.header = bytes.Clone(b[:n]), bytes.Clone(b[n:]) // apart: a body may be dropped
	e.Name = HashOf(e.header)
	if err := e.checkHeader(); err != nil {
		return err
	}
	return checkBody(e)
}

// drafts is room to encode entries in, up to maxDraft bytes each.
var drafts = sync.Pool{New: func() any { return new(make([]byte, 0, 2048)) }}

const maxDraft = 64 << 10

// seal signs e and with it the commit that ends there.
func (s *Signer) seal(e *Entry) error {
	sig, err := s.Sign(e.Name)
	if err != nil {
		return err
	}
	e.Signature, e.verified = sig, 1
	return nil
}
