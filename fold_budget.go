package perdure

import (
	"fmt"
	"math"
)

// Plus adds two amounts. A sum too large for the format stays at its largest number: more spent is never less.
func (s Spend) Plus(o Spend) Spend {
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

// Meet is the narrower of two budgets, amount by amount.
func (b *Budget) Meet(o *Budget) *Budget {
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

// Within reports whether b is no wider than o.
func (b *Budget) Within(o *Budget) bool {
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
		sum = sum.Plus(f.Open[i].Reserve)
	}
	for i := range f.Children {
		if !f.Children[i].Ended {
			sum = sum.Plus(f.Children[i].Reserve)
		}
	}
	return sum
}

// Left is the budget that is neither spent nor reserved; nil when there is no limit.
func (f *Fold) Left() *Budget {
	b := f.Intent.Budget
	if b == nil {
		return nil
	}
	used := f.Spent.Plus(f.Reserved())
	left := func(limit *int64, granted, used int64) *int64 {
		if limit == nil {
			return nil
		}
		n := max(plus(*limit, granted)-used, 0)
		return &n
	}
	return &Budget{
		Cost:   left(b.Cost, f.Granted.Cost, used.Cost),
		Tokens: left(b.Tokens, f.Granted.Tokens, used.Tokens),
		Calls:  left(b.Calls, f.Granted.Calls, used.Calls),
	}
}

// Affords reports whether the amount fits into what is left; if not, it says what is missing.
func (f *Fold) Affords(s Spend) (missing string, ok bool) {
	left := f.Left()
	if left == nil {
		return "", true
	}
	for _, d := range []struct {
		name string
		left *int64
		need int64
	}{{"cost", left.Cost, s.Cost}, {"tokens", left.Tokens, s.Tokens}, {"calls", left.Calls, s.Calls}} {
		if d.left != nil && d.need > *d.left {
			return fmt.Sprintf("%s: needs %d, %d left", d.name, d.need, *d.left), false
		}
	}
	return "", true
}

// Exhausted says which amount of the budget is used up, if one is.
func (f *Fold) Exhausted() (what string, yes bool) {
	what, ok := f.Affords(Spend{Cost: 1, Tokens: 1, Calls: 1})
	return what, !ok
}
