package perdure

import (
	"slices"

	"github.com/perdure/perdure/internal/ruling"
)

// Wakes tells which wakes ended the sleeps of an agent to whoever reads its memory entry by entry, as Ledger tells
// which outcomes count: it is shown the decisions that count, in fold order, see Reader. Of wakes of several copies the
// first counts, as in the fold, unless the advisor went on from another. The zero Wakes is ready for use.
type Wakes struct {
	asleep Hash   // the decision to sleep that stands
	beside []Wake // those that another came before
}

// Decided takes the next decision, about an action, and returns the wakes that count from then on, usually none or that
// one. Seen is what the advice had seen that proposed the action; none if it was given where the seat was not (see
// Advice.Apart).
func (w *Wakes) Decided(decision Hash, x Action, v *Verdict, seen []Hash) (count []Wake) {
	switch x := x.(type) {
	case Wake:
		switch {
		case v.Answer != Allow:
		case x.Sleep == w.asleep:
			w.asleep = Hash{}
			return []Wake{x}
		default:
			w.beside = append(w.beside, x)
		}
		return nil
	case Sleep:
		if v.Answer == Allow {
			w.asleep = decision
		}
	case Execute, Mutate, Delegate, End, nil:
	}
	if len(w.beside) == 0 || len(seen) == 0 || slices.Equal(v.Rules, []string{ruling.Outdated}) {
		return nil
	}
	followed := oneOf(seen) // the advisor went on from a wake by what it had seen
	w.beside = slices.DeleteFunc(w.beside, func(b Wake) bool {
		is := slices.ContainsFunc(b.By, followed)
		if is {
			count = append(count, b)
		}
		return is
	})
	return count
}
