package perdure

import (
	"errors"
	"iter"
	"slices"
)

// FoldEntries folds a whole memory. Parents come before children, in any such order. An entry whose parents are missing
// or that no signature covers is a *Rejection. Where bodies are gone it resumes from a snapshot that has seen all such
// entries. It may range over entries a second time, if branches lie far apart or bodies are gone.
func FoldEntries(entries iter.Seq2[*Entry, error]) (*Agent, error) { return foldEntries(entries, nil) }

// foldEntries is FoldEntries. Vouch says which snapshots to believe where bodies are gone; nil: all.
func foldEntries(entries iter.Seq2[*Entry, error], vouch func(*Entry) bool) (*Agent, error) {
	a, err := foldStream(entries)
	if err == nil {
		return a, nil
	}
	var r *Rejection
	if errors.As(err, &r) {
		if end, endErr := foldEnd(entries, vouch); end != nil || endErr != nil {
			return end, endErr
		}
	}
	err, again := refused(entries, err)
	if again || behind(err) {
		return foldWhole(entries, vouch)
	}
	return nil, err
}

// foldStream folds a memory as it comes.
func foldStream(entries iter.Seq2[*Entry, error]) (*Agent, error) {
	a := new(Agent)
	var s seals
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if a, err = a.take(e, &s); err != nil {
			return nil, err
		}
	}
	if e := s.broken(); e != nil {
		return nil, unsealed(e)
	}
	return a.complete()
}

// take folds the next entry of a memory, in place where that is possible, and has s see to it that a signature covers
// it. The caller owns a. An entry whose parents did not come before it is refused at once: what nobody can fold must
// not pile up.
func (a *Agent) take(e *Entry, s *seals) (*Agent, error) {
	if a.fold != nil {
		if ok, err := a.push(e); ok || err != nil {
			s.add(e)
			return a, err
		}
		if s.again++; len(a.fold.Heads) > MaxParents || s.again > tailWindow {
			return nil, ErrBehind // folding the window again and again costs more than folding all of it once
		}
	}
	next, err := a.apply([]*Entry{e}, true)
	if err != nil {
		return nil, err
	}
	if len(next.early) > 0 {
		return next.complete()
	}
	if next.fold == a.fold {
		return nil, twice(e)
	}
	s.add(e)
	return next, nil
}

// foldWhole folds a memory with every entry in hand.
func foldWhole(entries iter.Seq2[*Entry, error], vouch func(*Entry) bool) (*Agent, error) {
	all, err := collect(entries)
	if err != nil {
		return nil, err
	}
	if err := judge(sorted(all)); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, bodiless) { // who owned the agent meanwhile, only a snapshot can tell
		return resume(sorted(all), vouch)
	}
	a, err := new(Agent).Apply(all...)
	if err != nil {
		return nil, err
	}
	return a.complete()
}

func bodiless(e *Entry) bool { return e.content == nil }

// behind reports whether entries cannot be folded on top of others: they belong before them, or have no bodies any
// more. It takes the whole memory, and a snapshot in it.
func behind(err error) bool {
	var r *Rejection
	return errors.Is(err, ErrBehind) || errors.As(err, &r) && r.Predicate == predBodyPresent.Name
}

// resume folds a memory some bodies of which are gone: from the newest snapshot that has seen all such entries and that
// no other entry comes before. The entries have been checked, and are in fold order. Vouch says which snapshots to
// believe; nil: all.
func resume(all []*Entry, vouch func(*Entry) bool) (*Agent, error) {
	m := byName(all)
	var doubted *Entry
	tried := 0
	for _, s := range resumable(all) {
		if vouch != nil && !vouch(s) {
			doubted = s
			continue
		}
		if tried++; tried > maxResumes {
			break
		}
		seen := map[*Entry]bool{s: true}
		for _, e := range m.past(s.Parents...) {
			seen[e] = true
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(e *Entry) bool { return seen[e] })
		if slices.ContainsFunc(rest, bodiless) {
			continue
		}
		a, err := FromSnapshot(s)
		if err != nil {
			return nil, err
		}
		a.full = true
		if a, err = a.apply(rest, true); err == ErrBehind {
			a, err = resumeBeside(s, rest)
		}
		if err == ErrBehind {
			continue
		}
		if err != nil {
			return nil, err
		}
		return a.complete()
	}
	if doubted != nil {
		snap, _ := doubted.content.(Snapshot)
		return nil, untrusted(&authored{key: doubted.Origin, right: MayOwn, scope: snap.Fold.Charter.Scope,
			entry: doubted.Name}, MayOwn)
	}
	return nil, noBody(all[slices.IndexFunc(all, bodiless)])
}

// resumeBeside folds a snapshot and entries of which some were written beside it.
func resumeBeside(s *Entry, rest []*Entry) (*Agent, error) {
	a, err := beforeSnapshot(s)
	if err != nil {
		return nil, err
	}
	a.full = true
	return a.apply(append([]*Entry{s}, rest...), true)
}

// complete refuses a memory in which something is missing.
func (a *Agent) complete() (*Agent, error) {
	if len(a.early) > 0 {
		e := a.early[0]
		if missing := a.missing(); len(missing) > 0 {
			return nil, reject(predLinked, e, "$.header.parents", "parent "+missing[0].Short()+" is not in this memory",
				"every parent present", "get the missing entries from the copy this one came from")
		}
		return nil, unsealed(e)
	}
	if a.fold == nil {
		return nil, reject(predGenesisFirst, nil, "$", "no entries", "a genesis entry", "the memory is empty")
	}
	return a, nil
}

func unsealed(e *Entry) error {
	return reject(predSealed, e, "$.signature", "none", "a signature by its author on it or on the run after it",
		"the commit was cut short; get its last entries")
}

// AgentAt is the agent as it was at one entry: the fold of that entry and everything in its past. The entries are of a
// memory that was folded before: which signatures cover them is not checked again.
//
// It ranges over entries twice, and returns an agent that holds all of that past.
func AgentAt(entries iter.Seq2[*Entry, error], at Hash) (*Agent, error) {
	names, err := pastOf(entries, at)
	if err != nil {
		return nil, err
	}
	var past []*Entry
	for e, err := range only(entries, names) {
		if err != nil {
			return nil, err
		}
		past = append(past, e)
	}
	if past = sorted(past); slices.ContainsFunc(past, bodiless) || isEnd(past) {
		return resume(past, nil)
	}
	a, err := (&Agent{full: true}).apply(past, true)
	if err != nil {
		return nil, err
	}
	return a.complete()
}

// named is entries by name.
type named map[Hash]*Entry

func byName(entries []*Entry) named {
	m := make(named, len(entries))
	for _, e := range entries {
		m[e.Name] = e
	}
	return m
}

// heads are the entries that no other is written on, ascending.
func (m named) heads() []Hash {
	under := map[Hash]bool{}
	for _, e := range m {
		for _, p := range e.Parents {
			under[p] = true
		}
	}
	return slices.SortedFunc(func(yield func(Hash) bool) {
		for name := range m {
			if !under[name] && !yield(name) {
				return
			}
		}
	}, Hash.Compare)
}

// past is the entries of these names and everything they descend from.
func (m named) past(names ...Hash) []*Entry {
	var past []*Entry
	seen := map[Hash]bool{}
	for todo := slices.Clone(names); len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		e := m[name]
		if e == nil || seen[name] {
			continue
		}
		seen[name] = true
		past = append(past, e)
		todo = append(todo, e.Parents...)
	}
	return past
}

// has reports whether an entry is one of them.
func (m named) has(e *Entry) bool { return m[e.Name] != nil }

// sorted is entries in fold order, each once.
func sorted(entries []*Entry) []*Entry {
	out := slices.SortedFunc(slices.Values(entries), func(a, b *Entry) int {
		return a.Position().Compare(b.Position())
	})
	return slices.CompactFunc(out, func(a, b *Entry) bool { return a.Name == b.Name })
}
