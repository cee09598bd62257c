package perdure

import (
	"iter"
	"slices"
)

// Moment is an entry of a memory, and the agent as its author saw it.
type Moment struct {
	// everything in the past of the entry and nothing beside it; nil for genesis, and where bodies are gone that no
	// snapshot stands for
	Before *Agent
	Entry  *Entry
}

// Replay yields every entry of a memory with the agent as its author saw it: what a decision was taken on can be looked
// at again. Parents come before children, as in FoldEntries. The memory must have been verified: that signatures cover
// every entry is not checked again. The cost is that of folding the memory once, and once more for every entry that
// joins branches which lie further apart than an Agent holds; then entries is ranged over a second time.
func Replay(entries iter.Seq2[*Entry, error]) iter.Seq2[Moment, error] {
	return func(yield func(Moment, error) bool) {
		r := replay{entries: entries, recent: map[Hash]point{}}
		for e, err := range entries {
			if err != nil {
				yield(Moment{}, err)
				return
			}
			before, err := r.before(e)
			if err != nil {
				yield(Moment{}, err)
				return
			}
			if !yield(Moment{before, e}, nil) {
				return
			}
			if err := r.add(before, e); err != nil {
				yield(Moment{}, err)
				return
			}
		}
	}
}

// replay is the recent part of a memory, with the agent after each entry.
type replay struct {
	entries iter.Seq2[*Entry, error]
	all     named // the whole memory, once it was needed
	recent  map[Hash]point
	order   []Hash // of recent
}

// point is an entry and the agent after it; nil where that cannot be known.
type point struct {
	e *Entry
	a *Agent
}

// replayWindow is how many recent entries are held with their agents. Branches that part further back cost a fold of
// the memory each.
const replayWindow = 1024

// before is the agent its author had when writing e.
func (r *replay) before(e *Entry) (*Agent, error) {
	if len(e.Parents) == 0 {
		return nil, nil
	}
	var base *Agent
	first := e.Parents[0]
	for _, name := range e.Parents {
		p, ok := r.recent[name]
		if !ok {
			return r.fromAll(e)
		}
		if p.a == nil {
			return nil, nil
		}
		if base == nil || p.a.fold.Count > base.fold.Count {
			base, first = p.a, name
		}
	}
	if len(e.Parents) == 1 {
		return base, nil
	}
	beside, ok := r.beside(first, e.Parents)
	if !ok {
		return r.fromAll(e)
	}
	a, err := base.apply(beside, true)
	if err == ErrBehind {
		return r.fromAll(e)
	}
	return a, err
}

// beside is what lies in the past of the tips and not in that of one of them, in fold order. It reports false if it
// goes back further than the recent entries.
func (r *replay) beside(base Hash, tips []Hash) ([]*Entry, bool) {
	todo := map[Hash]bool{} // those to look at, and whether they are in the past of base
	for _, name := range tips {
		todo[name] = name == base
	}
	var found []*Entry
	for anyFalse(todo) {
		var top *Entry
		for name := range todo {
			p, ok := r.recent[name]
			if !ok {
				return nil, false
			}
			if top == nil || p.e.Position().Compare(top.Position()) > 0 {
				top = p.e
			}
		}
		inBase := todo[top.Name]
		delete(todo, top.Name)
		if !inBase {
			found = append(found, top)
		}
		for _, name := range top.Parents {
			todo[name] = todo[name] || inBase
		}
	}
	slices.Reverse(found)
	return found, true
}

func anyFalse(m map[Hash]bool) bool {
	for _, v := range m {
		if !v {
			return true
		}
	}
	return false
}

// fromAll folds everything in the past of e anew.
func (r *replay) fromAll(e *Entry) (*Agent, error) {
	if r.all == nil {
		r.all = named{}
		for e, err := range r.entries {
			if err != nil {
				return nil, err
			}
			r.all[e.Name] = e
		}
	}
	past := sorted(r.all.past(e.Parents...))
	if slices.ContainsFunc(past, bodiless) {
		a, err := resume(past, nil)
		if err != nil {
			return nil, nil // no snapshot stands for what is gone
		}
		return a, nil
	}
	return new(Agent).apply(past, true)
}

// add keeps e and the agent after it.
func (r *replay) add(before *Agent, e *Entry) error {
	p := point{e: e}
	var err error
	switch {
	case e.content == nil:
	case before != nil:
		p.a, err = before.apply([]*Entry{e}, true)
	case e.Kind == KindGenesis:
		p.a, err = new(Agent).apply([]*Entry{e}, true)
	case e.Kind == KindSnapshot:
		p.a, err = FromSnapshot(e)
	}
	if err != nil {
		return err
	}
	r.recent[e.Name] = p
	if r.order = append(r.order, e.Name); len(r.order) > replayWindow {
		delete(r.recent, r.order[0])
		r.order = r.order[1:]
	}
	return nil
}
