package home

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// Transfer is what came of passing agents to and from another place.
type Transfer struct {
	Peer    string          `json:"peer"`
	Agents  int64           `json:"agents"`
	Same    int64           `json:"same"`    // both had the same
	Pulled  int64           `json:"pulled"`  // agents of which something came
	Pushed  int64           `json:"pushed"`  // agents of which something went
	Entries int64           `json:"entries"` // that passed
	Passed  []Passage       `json:"passed"`
	Failed  []TransferFault `json:"failed,omitempty"`
	Left    []LeftFile      `json:"left,omitempty"` // of a folder from which agents were selected
	// Private are the roles whose own notes were left out: they are for the role alone, unless somebody names it.
	Private []string `json:"private,omitempty"`

	Way   exchange.Way `json:"-"` // in which they were to pass
	Named bool         `json:"-"` // people named each of them
}

// LeftFile is a file of a folder that was left alone, and why.
type LeftFile struct {
	File  string `json:"file"`
	Error string `json:"error"`

	err error
}

// Passage is an agent of which something passed, or was kept back.
type Passage struct {
	*exchange.Synced
	Name   string            `json:"name,omitempty"`
	Moved  bool              `json:"moved,omitempty"`  // its seat went along
	Before *exchange.Receipt `json:"before,omitempty"` // what went before its seat did
	Waits  string            `json:"waits,omitempty"`  // why it does not go on there, with its seat
	Stays  string            `json:"stays,omitempty"`  // why no seat went along that was to
	// Doubled is how much of it two copies decided, as far as nobody has settled it: it may have happened twice.
	Doubled int `json:"doubled,omitempty"`
}

// TransferFault is an agent that did not pass, and why.
type TransferFault struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
	Error string          `json:"error"`
	Do    string          `json:"do,omitempty"` // what to do about it

	err error
}

// Chosen are the agents that people name, by their names or by a filter: which of them are here, and which there, is
// found out.
type Chosen struct {
	Names  []string
	Filter perdure.Filter
	Move   bool // their seats go along, to the node of the other place
}

// Transfer passes agents between the store of a desk and another place. One that does not pass is named, and the others
// pass all the same.
func (h *Home) Transfer(ctx context.Context, d *Desk, p *Peer, c Chosen, way exchange.Way) (*Transfer, error) {
	out := &Transfer{Peer: p.Name, Passed: []Passage{}, Way: way, Named: len(c.Names) > 0}
	v, err := h.Owner()
	if err != nil {
		return out, err
	}
	if p.folder != nil {
		if err := differ(ctx, d.Store, p.folder); err != nil {
			return out, err
		}
	}
	here := Local{Desk: d, Visitor: v, from: p.source()}
	pass := func(one pick) (*Passage, error) {
		way := way
		if one.theirs {
			way = exchange.Pull
		}
		s, err := exchange.Sync(ctx, here, p, one.id, way)
		return &Passage{Synced: s}, resumable(err)
	}
	if c.Move {
		to, err := p.taker(ctx)
		if err != nil {
			return out, err
		}
		pass = func(one pick) (*Passage, error) { return here.move(ctx, p, one.id, to) }
	}
	book, err := h.OpenDealings(ctx)
	if err != nil {
		return out, err
	}
	defer func() { _ = book.Close() }() // every write was checked
	defer h.Progressed("", 0, 0)
	for one, err := range chosen(ctx, d, p, c, way, &out.Private) {
		if err != nil {
			return out, resumable(err)
		}
		h.Progressed("pass agents", out.Agents, int64(len(c.Names)))
		s, err := pass(one)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.add(ctx, d.Store, one.id, s, err)
		if s.Pushed != nil {
			if err := book.Keep(ctx, p.Name, s.Pushed); err != nil {
				return out, err
			}
		}
		if err == nil && !one.theirs && (len(c.Names) > 0 || workspace.KeepsPrivate(c.Filter.Kind)) {
			if private, err := here.private(ctx, one.id); err != nil {
				return out, err
			} else if private {
				if err := book.share(ctx, p.at(), one.id); err != nil {
					return out, err
				}
			}
		}
	}
	if way != exchange.Push && len(c.Names) == 0 {
		out.Left = p.leftAlone()
	}
	return out, nil
}

// resumable says of a connection that broke what to do: nothing that came is lost.
func resumable(err error) error {
	if !errors.Is(err, client.ErrBroken) && !errors.Is(err, client.ErrSlow) {
		return err
	}
	return perdure.WithHint(err, "run the same command again: what arrived complete is kept")
}

// add notes what came of one agent.
func (t *Transfer) add(ctx context.Context, s perdure.Store, id perdure.AgentID, got *Passage, err error) {
	t.Agents++
	name := nameOf(ctx, s, id)
	if err != nil {
		f := TransferFault{Agent: id, Name: name, Error: err.Error(), err: err}
		if hint := new(perdure.Hint); errors.As(err, &hint) {
			f.Do = hint.Do
		} else if r := new(perdure.Rejection); errors.As(err, &r) {
			f.Do = r.Hint
		}
		f.Error = strings.TrimSuffix(f.Error, "; "+f.Do)
		t.Failed = append(t.Failed, f)
	}
	if got.Pulled == nil && got.Pushed == nil && got.Kept == "" && !got.Behind {
		if err == nil {
			t.Same++
		}
		if got.Stays == "" {
			return
		}
	}
	if got.Name = name; got.Pulled != nil {
		got.Doubled = doubles(ctx, s, id)
	}
	t.Passed = append(t.Passed, *got)
	if got.Before != nil {
		t.Entries += got.Before.Entries
	}
	for _, x := range []struct {
		r *exchange.Receipt
		n *int64
	}{{got.Pulled, &t.Pulled}, {got.Pushed, &t.Pushed}} {
		if x.r != nil {
			*x.n++
			t.Entries += x.r.Entries
		}
	}
}

// doubles is how much of what must happen once two copies of an agent decided, as is known where they met.
func doubles(ctx context.Context, s perdure.Store, id perdure.AgentID) int {
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return 0 // whoever looks at it next is told
	}
	return len(a.Fold().Doubles())
}

// unlessCopied is what to do about a file of a folder that was left alone.
const unlessCopied = "if it is still being copied, run the same command again; else get another copy of it, or move " +
	"it away"

// Err says that some did not pass, of the kind of the first; nil: all did. One that is kept where it is was not to
// pass, unless somebody named it.
func (t *Transfer) Err() error {
	switch {
	case len(t.Failed) == 0 && len(t.Left) > 0:
		in := " in " + view.InLine(t.Peer)
		return perdure.WithHint(&someFailed{view.Counted(int64(len(t.Left)), "file"+in+" was left alone",
			"files"+in+" were left alone"), t.Left[0].err},
			unlessCopied)
	case len(t.Failed) == 0:
		return t.keptBack()
	case t.Agents == 1:
		return t.Failed[0].err
	}
	return &someFailed{fmt.Sprintf("%d of %s did not pass", len(t.Failed), view.Several(t.Agents, "agent")),
		t.Failed[0].err}
}

// keptBack says that some that were named are kept where they are, as is said of each.
func (t *Transfer) keptBack() error {
	kept := int64(0)
	for i := range t.Passed {
		if one := &t.Passed[i]; one.Kept != "" && one.Pulled == nil && one.Pushed == nil {
			kept++
		}
	}
	if kept == 0 || !t.Named {
		return nil
	}
	return &someFailed{fmt.Sprintf("%d of %s was not passed on", kept, view.Several(t.Agents, "agent")),
		perdure.ErrDenied}
}

// pick is an agent that is to pass. Of one that is here, and that only the other place names, nothing leaves on its
// word: it is theirs.
type pick struct {
	id     perdure.AgentID
	theirs bool
}

// chosen yields the agents that are named, or that a filter selects in the places they may come from, each once. Of
// those that are selected, the private notes of roles stay where they are, and are named in private. A server says page
// by page which there are, so that the first may pass before it has named the last.
func chosen(ctx context.Context, d *Desk, p *Peer, c Chosen, way exchange.Way, private *[]string) iter.Seq2[pick,
	error] {
	if len(c.Names) > 0 {
		return named(ctx, d, p, c.Names, way)
	}
	known, left := map[perdure.AgentID]bool{}, map[string]bool{}
	choose := func(one perdure.Listing) bool {
		if workspace.KeepsPrivate(one.Kind) && c.Filter.Kind != one.Kind {
			if called := view.CommandName(one.Name, one.Agent); !left[called] {
				left[called] = true
				*private = append(*private, called)
			}
			return false
		}
		was := known[one.Agent]
		known[one.Agent] = true
		return !was
	}
	return func(yield func(pick, error) bool) {
		var mine []pick // it is written to while they pass
		if way != exchange.Pull {
			l, err := view.Lister(d.Store)
			if err != nil {
				yield(pick{}, err)
				return
			}
			for one, err := range l.List(ctx, c.Filter) {
				if err != nil {
					yield(pick{}, err)
					return
				}
				if choose(one) {
					mine = append(mine, pick{id: one.Agent})
				}
			}
		}
		for _, one := range mine {
			if !yield(one, nil) {
				return
			}
		}
		if way == exchange.Push {
			return
		}
		for one, err := range p.List(ctx, c.Filter) {
			next := pick{id: one.Agent}
			if err == nil {
				next.theirs, err = isHere(ctx, d.Store, one.Agent)
			}
			if err != nil {
				yield(pick{}, err)
				return
			}
			if choose(one) && !yield(next, nil) {
				return
			}
		}
	}
}

// named yields the agents of some names. One that means none keeps all of them from passing.
func named(ctx context.Context, d *Desk, p *Peer, names []string, way exchange.Way) iter.Seq2[pick, error] {
	return func(yield func(pick, error) bool) {
		var all []pick
		for _, name := range names {
			id, there, err := d.namedIn(ctx, p, name, way)
			one := pick{id: id}
			if err == nil && there {
				if own, miss := d.Home.FindAgent(ctx, d.Store, name); miss != nil || own != id {
					one.theirs, err = isHere(ctx, d.Store, id)
				}
			}
			if err != nil {
				yield(pick{}, err)
				return
			}
			if !slices.ContainsFunc(all, func(o pick) bool { return o.id == id }) {
				all = append(all, one)
			}
		}
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

func isHere(ctx context.Context, s perdure.Store, id perdure.AgentID) (bool, error) {
	_, err := s.Heads(ctx, id)
	if errors.Is(err, perdure.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// namedIn is the agent of a name, where it may come from: here, there, or either; and whether the other place says so.
func (d *Desk) namedIn(ctx context.Context, p *Peer, name string, way exchange.Way) (id perdure.AgentID,
	there bool, err error) {
	if way != exchange.Pull {
		id, err = d.Home.FindAgent(ctx, d.Store, name)
		if err == nil || way == exchange.Push || !errors.Is(err, perdure.ErrNotFound) {
			return id, false, err
		}
	}
	id, err = p.Find(ctx, name)
	if errors.Is(err, perdure.ErrNotFound) || errors.Is(err, errDamaged) {
		text := fmt.Sprintf("there is no agent %q in %s", name, p.Called())
		hint := "an agent is named by its name or by 4 or more digits of its id"
		for _, one := range p.leftAlone() {
			text += fmt.Sprintf("; %s was left alone: %s", view.InLine(one.File), view.InLine(one.Error))
			hint = unlessCopied
		}
		err = perdure.WithHint(perdure.Missing(text), hint)
	}
	return id, true, err
}
