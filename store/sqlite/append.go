package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

const (
	// maxRowEntries and maxRowBytes bound what one row holds, so that a memory can be read piece by piece. Cursors
	// count on the first.
	maxRowEntries = 1 << cursorBits
	maxRowBytes   = 256 << 10
	cursorBits    = 10
)

// cursor is where entry i of the row rid stands.
func cursor(rid int64, i int) perdure.Cursor { return perdure.Cursor(rid<<cursorBits | int64(i)) }

// Append implements perdure.Store.
func (s *Store) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	return s.add(ctx, "append to", id, entries, addition{check: onto(heads)})
}

// onto refuses an agent that has other heads.
func onto(heads []perdure.Hash) func(*writer, *agent) error {
	return func(_ *writer, a *agent) error { return a.compare(heads) }
}

// AppendListed is Append, and with it Index of the agent as these entries leave it: both are written, or neither is. Of
// an agent whose listing cannot be written, because its page is damaged, the entries are.
func (s *Store) AppendListed(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, l perdure.Listing,
	entries ...*perdure.Entry) error {
	err := s.add(ctx, "append to", id, entries, addition{check: onto(heads), listing: &l})
	if !corrupt(err) {
		return err
	}
	if err := s.Append(ctx, id, heads, entries...); err != nil {
		return err
	}
	if now, err := s.Heads(ctx, id); err == nil {
		_ = s.Index(ctx, now, l) // it is derived, and the entries are there
	}
	return nil
}

// Put implements perdure.Store.
func (s *Store) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return s.add(ctx, "put to", id, entries, addition{check: func(*writer, *agent) error { return nil }})
}

// streamBytes is how much of a sequence is written at a time.
const streamBytes = 4 << 20

// PutAll implements perdure.Parter: it is one transaction, so that a crash leaves nothing of it. Other writers wait
// until it has ended.
func (s *Store) PutAll(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	p, err := s.scanAll(ctx, id)
	st := &streaming{past: p}
	if err == nil {
		err = s.submit(ctx, &request{alone: true, apply: func(w *writer) error { return st.write(w, id, entries) }})
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("put to agent %s: %w", id.Short(), s.discard(ctx, err, st.blobs))
}

// scanAll is all that the store has of an agent.
func (s *Store) scanAll(ctx context.Context, id perdure.AgentID) (*past, error) {
	p := &past{s: s, id: id, names: map[perdure.Hash]bool{}}
	for !p.whole {
		if err := s.read(ctx, p.back); errors.Is(err, perdure.ErrNotFound) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// streaming is a sequence being written.
type streaming struct {
	past  *past
	blobs []perdure.Hash // the long bodies met
}

func (st *streaming) write(w *writer, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	a, err := w.agent(id)
	if err != nil {
		return err
	}
	var batch []*perdure.Entry
	size := 0
	for e, err := range entries {
		if err == nil && e.ID() != id {
			err = e.Foreign(id)
		}
		if err != nil {
			return err
		}
		if len(e.BodyBytes()) > perdure.InlineBody {
			st.blobs = append(st.blobs, e.Body)
		}
		if batch, size = append(batch, e), size+len(e.HeaderBytes())+len(e.BodyBytes()); size >= streamBytes {
			if err := st.flush(w, a, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
	return st.flush(w, a, batch)
}

func (st *streaming) flush(w *writer, a *agent, batch []*perdure.Entry) error {
	fresh, err := w.fresh(a, batch, st.past)
	if err == nil {
		err = w.add(a, fresh)
	}
	if err != nil || len(fresh) == 0 {
		return err
	}
	for _, e := range fresh {
		st.past.names[e.Name] = true
	}
	st.past.to = a.rid
	return brokenOr(w.place())
}

// errScan says that a request needs to know of entries the committer does not remember.
var errScan = errors.New("entries before the heads are needed")

// addition is what goes with entries that are added.
type addition struct {
	check   func(*writer, *agent) error // what an agent must pass
	alone   bool                        // they have a transaction of their own, as they must where check writes
	listing *perdure.Listing            // of the agent with the entries; nil: it stays
}

// add durably adds entries to an agent that passes a check, and records its listing, if there is one.
func (s *Store) add(ctx context.Context, verb string, id perdure.AgentID, entries []*perdure.Entry,
	more addition) error {
	bytes := 0
	for _, e := range entries {
		if e.ID() != id {
			return fmt.Errorf("%s agent %s: %w", verb, id.Short(), e.Foreign(id))
		}
		bytes += len(e.HeaderBytes()) + min(len(e.BodyBytes()), perdure.InlineBody)
	}
	blobs, err := s.writeBlobs(ctx, entries)
	if broken := (brokenError{}); errors.As(err, &broken) {
		err = s.submit(context.WithoutCancel(ctx), &request{apply: func(*writer) error { return broken }})
	}
	var past *past
	for err == nil {
		err = s.submit(ctx, &request{bytes: bytes, alone: more.alone, apply: func(w *writer) error {
			a, err := w.agent(id)
			if err == nil {
				err = more.check(w, a)
			}
			if err != nil {
				return err
			}
			p := w.recalled(id, past)
			fresh, err := w.fresh(a, entries, p)
			before := a.rid
			if err == nil {
				err = w.write(a, fresh)
			}
			if err == nil && p != nil {
				w.learned(a, p, before, fresh)
			}
			if err == nil && more.listing != nil {
				err = w.relist(a, a.names(), *more.listing, false)
			} else if err == nil && len(fresh) > 0 {
				err = w.unlist(a)
			}
			return err
		}})
		if err != errScan {
			break
		}
		past, err = s.scan(ctx, id, entries)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s agent %s: %w", verb, id.Short(), s.discard(ctx, err, blobs))
}

// fresh are the entries that the agent does not have yet. It refuses entries whose parents are missing. An entry on top
// of a head or of a new entry is new itself, which decides nearly always; past has the answer otherwise.
func (w *writer) fresh(a *agent, entries []*perdure.Entry, p *past) ([]*perdure.Entry, error) {
	fresh := newNames(len(entries))
	for _, e := range entries {
		if fresh.has(e.Name) || e.Kind == perdure.KindGenesis && a.key != 0 {
			continue
		}
		top, rest := e.Kind == perdure.KindGenesis, false
		for _, parent := range e.Parents {
			if isHead(a.heads, parent) || fresh.has(parent) {
				top = true
			} else {
				rest = true
			}
		}
		if rest {
			held, err := w.older(a, e, top, fresh, p)
			if err != nil {
				return nil, err
			}
			if held {
				continue
			}
		}
		fresh.add(e)
	}
	return fresh.entries, nil
}

// older decides about an entry with parents that are neither heads nor new: whether the agent has it already, unless
// top says that it cannot, and whether the agent has those parents.
func (w *writer) older(a *agent, e *perdure.Entry, top bool, fresh *names, p *past) (held bool, err error) {
	if a.key == 0 {
		return false, e.Unlinked(e.Parents[0])
	}
	if p == nil {
		return false, errScan
	}
	if err := p.catchUp(w, a); err != nil {
		return false, err
	}
	if p.cached && !p.whole && slices.ContainsFunc(e.Parents, func(parent perdure.Hash) bool {
		return !isHead(a.heads, parent) && !fresh.has(parent) && !p.has(parent)
	}) {
		return false, errScan // it does not reach back so far
	}
	if !top && p.has(e.Name) {
		return true, nil
	}
	for _, parent := range e.Parents {
		if !isHead(a.heads, parent) && !fresh.has(parent) && !p.has(parent) {
			return false, e.Unlinked(parent)
		}
	}
	return false, nil
}

// names are entries in order, and found by name.
type names struct {
	entries []*perdure.Entry
	index   map[perdure.Hash]bool // nil while there are few
}

func newNames(n int) *names {
	out := &names{entries: make([]*perdure.Entry, 0, n)}
	if n > 16 {
		out.index = make(map[perdure.Hash]bool, n)
	}
	return out
}

func (n *names) add(e *perdure.Entry) {
	n.entries = append(n.entries, e)
	if n.index != nil {
		n.index[e.Name] = true
	}
}

func (n *names) has(name perdure.Hash) bool {
	if n.index != nil {
		return n.index[name]
	}
	return slices.ContainsFunc(n.entries, func(e *perdure.Entry) bool { return e.Name == name })
}

// add writes new entries of an agent, and that its listing does not tell of them.
func (w *writer) add(a *agent, entries []*perdure.Entry) error {
	err := w.write(a, entries)
	if err == nil && len(entries) > 0 {
		err = w.unlist(a)
	}
	return err
}

// write writes new entries of an agent.
func (w *writer) write(a *agent, entries []*perdure.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if a.key == 0 {
		if err := w.create(a, entries[0]); err != nil {
			return err
		}
	}
	for len(entries) > 0 {
		n, err := w.addRow(a, entries)
		if err != nil {
			return err
		}
		entries = entries[n:]
	}
	w.changed = append(w.changed, a.id)
	if !a.node.IsZero() {
		return nil // when the lease ends or the claim is released, somebody looks
	}
	return w.look(a, dueOf(a.heads))
}

// create gives an agent its key and its first listing.
func (w *writer) create(a *agent, genesis *perdure.Entry) error {
	key, _, err := w.number("INSERT INTO agents(id) VALUES(?) RETURNING key", a.id[:])
	if err != nil {
		return brokenError{err}
	}
	a.key = key
	w.agents[a.id] = a
	w.keepBirth(key, genesis)
	return w.list(key, genesis.Newborn())
}

// addRow writes as many of the entries as go into one row, and returns how many.
func (w *writer) addRow(a *agent, entries []*perdure.Entry) (int, error) {
	r, size, rid := &row{parts: w.parts[:0]}, 0, w.next
	for i, e := range entries {
		if i == maxRowEntries || i > 0 && size+len(e.BodyBytes()) > maxRowBytes {
			break
		}
		if e.Kind == perdure.KindSnapshot && (len(a.heads) == 0 || slices.Equal(a.names(), e.Parents)) {
			if err := w.do("INSERT INTO snapshots VALUES(?,?)", a.key, int64(cursor(rid, i))); err != nil {
				return 0, err
			}
		}
		p, err := newPart(e, a.last, w.numberOf)
		if err != nil {
			return 0, err
		}
		if p.place == bodyBlob {
			if err := w.keepBlob(e, cursor(rid, i)); err != nil {
				return 0, err
			}
		}
		// A name is kept unless the entry after commits to it, or it is the agent's id.
		if p.named = p.kind != perdure.KindGenesis; i > 0 && p.linked {
			r.parts[i-1].named = false
			p.leaveOut(a.last)
		}
		r.parts = append(r.parts, p)
		a.step(e)
		size += len(p.body)
	}
	if err := w.noteHeads(a, r, entries[:len(r.parts)]); err != nil {
		return 0, err
	}
	a.rid = rid
	w.buffer = r.append(append(w.buffer[:0], 0))
	n := len(r.parts)
	clear(r.parts) // nothing of the entries is kept
	w.parts = r.parts
	return n, w.insert(a.key, w.buffer)
}
