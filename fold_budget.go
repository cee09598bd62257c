package perdure

import (
	"fmt"
	"math"
)

// plus adds two amounts. A sum too large for the format stays at its largest number: more spent is never less.
func (s Spend) plus(o Spend) Spend {
	return Spend{Cost: plus(s.Cost, o.Cost), Tokens: plus(s.Tokens, o.Tokens), Calls: plus(s.Calls, o.Calls)}
}

// maxAmount is the largest integer every form of the format can hold exactly.
const maxAmount = 1<<53 - 1

func plus(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return maxAmount
	}
	return min(a+b, maxAmount)
}

// meet is the narrower of two budgets, amount by amount.
func (b *Budget) meet(o *Budget) *Budget {
	if b == nil {
		return o
	}
	if o == nil {
		return b
	}
	return &Budget{Cost: narrower(b.Cost, o.Cost), Tokens: narrower(b.Tokens, o.Tokens),
		Calls: narrower(b.Calls, o.Calls)}
}

func narrower(a, b *int64) *int64 {
	if a == nil || (b != nil && *b < *a) {
		return b
	}
	return a
}

// unlimited names an amount that the budget has no limit on; empty: it has one on each.
func (b *Budget) unlimited(s Spend) string {
	switch {
	case s.Cost > 0 && b.Cost == nil:
		return "cost"
	case s.Tokens > 0 && b.Tokens == nil:
		return "tokens"
	case s.Calls > 0 && b.Calls == nil:
		return "calls"
	}
	return ""
}

// within reports whether b is no wider than o.
func (b *Budget) within(o *Budget) bool {
	if o == nil {
		return true
	}
	if b == nil {
		b = new(Budget)
	}
	in := func(a, limit *int64) bool { return limit == nil || (a != nil && *a <= *limit) }
	return in(b.Cost, o.Cost) && in(b.Tokens, o.Tokens) && in(b.Calls, o.Calls)
}

// Reserved is what open effects and living children hold.
func (f *Fold) Reserved() Spend {
	var sum Spend
	for i := range f.Open {
		sum = sum.plus(f.Open[i].Reserve)
	}
	for i := range f.Children {
		if !f.Children[i].Ended {
			sum = sum.plus(f.Children[i].Reserve)
		}
	}
	return sum
}

// Limit is the budget with what was granted since; nil when there is no limit.
func (f *Fold) Limit() *Budget {
	return f.Intent.Budget.each(f.Granted, plus)
}

// Left is the budget that is neither spent nor reserved; nil when there is no limit.
func (f *Fold) Left() *Budget {
	return f.Limit().each(f.Spent.plus(f.Reserved()), func(limit, used int64) int64 { return max(limit-used, 0) })
}

// each is what becomes of each amount of the budget with that of another; what has no limit gets none.
func (b *Budget) each(o Spend, of func(limit, other int64) int64) *Budget {
	if b == nil {
		return nil
	}
	one := func(limit *int64, other int64) *int64 {
		if limit == nil {
			return nil
		}
		return new(of(*limit, other))
	}
	return &Budget{Cost: one(b.Cost, o.Cost), Tokens: one(b.Tokens, o.Tokens), Calls: one(b.Calls, o.Calls)}
}

// affords reports whether the amount fits into what is left; if not, it says what is missing.
func (f *Fold) affords(s Spend) (missing string, ok bool) {
	limit, used := f.Limit(), f.Spent.plus(f.Reserved())
	if limit == nil {
		return "", true
	}
	for _, d := range []struct {
		name       string
		limit      *int64
		used, need int64
	}{{"cost", limit.Cost, used.Cost, s.Cost}, {"tokens", limit.Tokens, used.Tokens, s.Tokens},
		{"calls", limit.Calls, used.Calls, s.Calls}} {
		if d.limit == nil || d.need <= max(*d.limit-d.used, 0) {
			continue
		}
		missing = fmt.Sprintf("%s: needs %d, %d left", d.name, d.need, max(*d.limit-d.used, 0))
		if over := d.used - *d.limit; over > 0 { // what something costs is known once it is done
			missing += fmt.Sprintf(", %d over the limit", over)
		}
		return missing, false
	}
	return "", true
}

// Exhausted says which amount of the budget is used up, if one is.
func (f *Fold) Exhausted() (what string, yes bool) {
	what, ok := f.affords(Spend{Cost: 1, Tokens: 1, Calls: 1})
	return what, !ok
}
