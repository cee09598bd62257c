package script

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
)

// branches is how far copies of an agent have come in a script. Of an advice that something was decided about, only
// what is not in its past matters: it was given knowing all of that, and is further. So what it costs to find out is
// what came since the last such advice, or since the branches parted.
type branches struct {
	memory   *reader
	epoch    int64                      // of the seat; zero: there is none
	decided  map[perdure.Hash][]decided // by advice; the newest first
	outdated map[perdure.Hash][]int64   // by advice: what was not done because it was outdated
	woken    map[perdure.Hash]bool      // the decisions to sleep that somebody has woken from
	asleep   bool                       // the furthest turn is a sleep
	gone     bool                       // something it came to has no body any more, or is not here at all
	furthest place
}

// decided is a decision about an action of an advice.
type decided struct {
	index  int64
	answer perdure.Answer
	once   bool // it must not be done again
}

// walk looks at entries from the heads back, each after everything that descends from it, until all that is left is in
// the past of an advice that counts.
func (b *branches) walk(ctx context.Context, heads []perdure.Hash) error {
	ahead := frontier{memory: b.memory, covered: map[perdure.Hash]bool{}}
	for _, name := range heads {
		ahead.add(name, false)
	}
	for ahead.open > 0 {
		e, covered, err := ahead.next(ctx)
		b.gone = b.gone || ahead.lost || e != nil && !covered && e.Content() == nil
		if e == nil || err != nil {
			return err
		}
		if !covered {
			counts, err := b.memory.Counts(ctx, e)
			if err != nil {
				return err
			}
			covered = counts && b.add(e)
		}
		for _, p := range e.Parents {
			ahead.add(p, covered)
		}
	}
	return nil
}

// add takes note of an entry, and reports whether it is an advice that something was decided about.
func (b *branches) add(e *perdure.Entry) bool {
	switch c := e.Content().(type) {
	case perdure.Advice:
		return b.holds(e.Name, &c) && b.advised(&c, b.decided[e.Name])
	case perdure.Decision:
		if w, ok := c.Action.(perdure.Wake); ok {
			b.woken[w.Sleep] = b.woken[w.Sleep] || c.Verdict.Answer == perdure.Allow
		} else if slices.Equal(c.Verdict.Rules, []string{ruling.Outdated}) {
			b.outdated[c.Advice] = append(b.outdated[c.Advice], c.Index)
		} else {
			once := c.Verdict.Answer != perdure.Deny && (len(c.Child) > 0 || c.Effect == perdure.Once)
			b.decided[c.Advice] = append(b.decided[c.Advice], decided{c.Index, c.Verdict.Answer, once})
		}
	case perdure.Genesis, perdure.Outcome, perdure.Event, perdure.Snapshot, nil:
	}
	return false
}

// holds reports whether a turn was taken: all of it where a copy was asked, or where the seat was before it moved, as
// nobody decides the rest any more. What could not be done elsewhere is done again, with the rest, unless that must not
// be done again.
func (b *branches) holds(name perdure.Hash, a *perdure.Advice) bool {
	about := b.decided[name]
	left := false
	for i := range a.Actions {
		left = left || !slices.ContainsFunc(about, func(d decided) bool { return d.index == int64(i) })
	}
	moved := a.Epoch != 0 && a.Epoch != b.epoch
	switch {
	case len(b.outdated[name]) > 0, left && moved && !a.Apart:
		return slices.ContainsFunc(about, func(d decided) bool { return d.once })
	case a.Apart:
		return !left
	}
	return true
}

// advised takes note of an advice and what was decided about it. Of two at one place, the first in memory says whether
// that is a sleep.
func (b *branches) advised(a *perdure.Advice, about []decided) bool {
	at := placeIn(a.Actions)
	if len(about) == 0 || at.turn == 0 {
		return false
	}
	if !at.before(b.furthest) {
		first := about[len(about)-1]
		b.furthest, b.asleep = at, first.answer == perdure.Allow && isSleep(a, first.index)
	}
	return true
}

func isSleep(a *perdure.Advice, index int64) bool {
	if index < 0 || index >= int64(len(a.Actions)) {
		return false
	}
	_, ok := a.Actions[index].(perdure.Sleep)
	return ok
}

// place is where the script goes on: a sleep that was decided in one copy, while another has woken from an earlier one,
// comes again.
func (b *branches) place(ctx context.Context) (place, error) {
	at := b.furthest
	if !b.asleep {
		return at, nil
	}
	for sleep, woken := range b.woken {
		if !woken {
			continue
		}
		from, err := b.memory.placeOf(ctx, sleep)
		if err != nil && !errors.Is(err, perdure.ErrIncapable) {
			return place{}, err
		}
		if from.same(at) {
			return at, nil
		}
	}
	at.round--
	return at, nil
}
