package tool

import (
	"context"
	"slices"
	"strings"
)

// redactor takes the values of secrets out of what a tool returns. A tool that cuts a text asks it first: a value cut
// in two is in neither half as a whole, and two halves make one again. A nil redactor knows no secrets.
type redactor struct {
	spellings []spelling // exact ones
	exact     *matcher
	plain     *matcher // in normal form
	halves    *halves
}

// span is where the value of a secret is in a text.
type span struct {
	from, to int
	name     string
}

// newRedactor is nil if there are no values.
func newRedactor(values map[string]string) *redactor {
	if len(values) == 0 {
		return nil
	}
	var all []spelling
	for value, name := range values {
		all = append(all, spelling{value, name})
	}
	exact, plain := spellingsOf(all, minSecret)
	return &redactor{spellings: exact, exact: newMatcher(exact), plain: newMatcher(plain), halves: newHalves(all)}
}

type redactorKey struct{}

// withRedactor gives a redactor to the tool that is called.
func withRedactor(ctx context.Context, r *redactor) context.Context {
	return context.WithValue(ctx, redactorKey{}, r)
}

// redactorOf is the redactor of a call; nil if it was given none.
func redactorOf(ctx context.Context) *redactor {
	r, _ := ctx.Value(redactorKey{}).(*redactor)
	return r
}

// margin is how many bytes around a cut are looked at: one less than the longest spelling. One that is not exact is
// taken for at most four times as long as its normal form, as a dump is.
func (r *redactor) margin() int {
	if r == nil {
		return 0
	}
	return max(r.exact.long, 4*r.plain.long) - 1
}

// spans are where values are in a text, in order. Values that overlap are one, so that no end of one is left.
func (r *redactor) spans(b []byte) []span {
	all := r.halves.spans(r.exactSpans(b), b)
	var n normal
	if len(r.plain.by) > 0 {
		n.read(b, true)
		all = r.plainSpans(all, &n)
		if n.readDump(b, true) {
			all = r.plainSpans(all, &n)
		}
		loose, numbers := peculiar(b)
		if loose {
			n.readLoose(b, true)
			all = r.plainSpans(all, &n)
		}
		if numbers && n.readNumbers(b, true) {
			all = r.plainSpans(all, &n)
		}
	}
	return mergeSpans(all)
}

// exactSpans are where values are in a text as they are spelled.
func (r *redactor) exactSpans(b []byte) (all []span) {
	for at, s := range r.exact.each(b) {
		all = append(all, span{at, at + len(s.text), s.name})
	}
	return all
}

// mergeSpans puts spans in order. Those that overlap are one.
func mergeSpans(all []span) []span {
	slices.SortStableFunc(all, func(a, b span) int { return a.from - b.from })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && s.from < merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// plainSpans adds where values are by their normal form.
func (r *redactor) plainSpans(all []span, n *normal) []span {
	for at, s := range r.plain.each(n.text) {
		all = append(all, span{n.from[at], n.to[at+len(s.text)-1], s.name})
	}
	return all
}

// replace puts references in the place of values.
func (r *redactor) replace(text string) string {
	if r == nil {
		return text
	}
	return replaceSpans(text, r.spans([]byte(text)))
}

// replaceExact is replace for values as they are spelled.
func (r *redactor) replaceExact(text string) string {
	return replaceSpans(text, mergeSpans(r.exactSpans([]byte(text))))
}

// replaceSpans puts references in the place of spans, which are in order.
func replaceSpans(text string, spans []span) string {
	b := []byte(text)
	var out []byte
	done := 0
	for _, s := range spans {
		out = append(append(append(out, b[done:s.from]...), reference...), s.name...)
		done = s.to
	}
	if done == 0 {
		return text
	}
	return string(append(out, b[done:]...))
}

// cut is b[from:to], where b reaches margin further on both sides if there is so much. Of a value that a cut would
// part, all of it is replaced by its reference.
func (r *redactor) cut(b []byte, from, to int) []byte {
	if r == nil {
		return b[from:to]
	}
	begin, end, before, after := from, to, "", ""
	for _, s := range r.spans(b) {
		if s.from < from && s.to > from {
			begin, before = s.to, reference+s.name
		}
		if s.from >= begin && s.from < to && s.to > to {
			end, after = s.from, reference+s.name
		}
	}
	if begin >= to && before != "" {
		return []byte(before)
	}
	return slices.Concat([]byte(before), b[begin:end], []byte(after))
}

// replaceClipped is replace for a text that was cut at places where it says …: what is before one may be the beginning
// of a value.
func (r *redactor) replaceClipped(s string) string {
	if r == nil {
		return s
	}
	s = r.replace(s)
	var out strings.Builder
	for {
		i := strings.Index(s, cutMark)
		if i < 0 {
			return out.String() + s
		}
		out.WriteString(r.dropBeginning(s[:i]) + cutMark)
		s = s[i+len(cutMark):]
	}
}

// cutOff is a text that breaks off at its end, without the beginning of a value there.
func (r *redactor) cutOff(s string) string {
	if r == nil {
		return s
	}
	return r.dropBeginning(r.replace(s))
}

// cutMark stands where a text was cut.
const cutMark = "…"

// dropBeginning replaces what a text ends in by the reference of a value, if it is the beginning of one.
func (r *redactor) dropBeginning(s string) string {
	for at := max(0, len(s)-r.margin()); at <= len(s)-minSecret; at++ {
		for _, sp := range r.spellings {
			if strings.HasPrefix(sp.text, s[at:]) {
				return s[:at] + reference + sp.name
			}
		}
	}
	return s
}
