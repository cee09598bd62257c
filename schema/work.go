package schema

import (
	"regexp"
	"strings"

	"github.com/perdure/perdure/internal/canon"
)

// work is what may still be spent on the predicates and conditions of one value. One evaluation is bounded by itself,
// but a list repeats those of its records, and a schema may come from whoever sent the value. The price of an
// evaluation is reckoned from its source and the size of what it reads, not measured, so that every node refuses the
// same values.
type work struct{ left int64 }

func newWork() *work { return &work{maxWork} }

// spend takes the price of an evaluation, and refuses if there is not enough left.
func (w *work) spend(price int64, path string) *canon.Rejection {
	if w.left -= price; w.left < 0 {
		return refuse(predLimit, path, "more work for predicates than one value may ask for",
			"fewer elements, or predicates with fewer loops")
	}
	return nil
}

// matchFactor is how much longer a step of matching a regular expression takes than another.
const matchFactor = 10

// price is what an expression costs.
type price struct {
	loops   int  // exists, all, map and filter in it: each may go over all there is
	self    bool // it reads the record
	matches bool // it has regular expressions
	source  int64
}

var loops = regexp.MustCompile(`\.\s*(all|exists|exists_one|map|filter)\s*\(`)

func priceOf(src string) price {
	return price{len(loops.FindAllString(src, -1)), strings.Contains(src, "self"), strings.Contains(src, "matches"),
		int64(len(src))}
}

// of returns the price of one evaluation, which is no more than what ends it anyway.
func (p price) of(this any, self map[string]any) int64 {
	base := 1 + p.source/4 + p.size(this) // a list may be written in the source
	if p.self {
		base += p.size(self)
	}
	most := int64(maxPrice)
	if p.matches {
		most *= matchFactor
	}
	total := base
	for range p.loops - 1 {
		total = min(total*base, most)
	}
	return min(total, most)
}

// size is the number of values in v, and the price of reading their text.
func (p price) size(v any) int64 {
	text := func(n int) int64 {
		if p.matches {
			return 1 + 4*matchFactor*int64(n)
		}
		return 1 + int64(n)/10
	}
	var n int64 = 1
	switch v := v.(type) {
	case string:
		return text(len(v))
	case []byte:
		return text(len(v))
	case []any:
		for _, e := range v {
			n += p.size(e)
		}
	case map[string]any:
		for _, e := range v {
			n += p.size(e)
		}
	}
	return n
}
