package tool

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
)

// redactor takes the values of secrets out of what a tool returns. A tool that cuts a text asks it first: a value cut
// in two is in neither half as a whole, and two halves make one again. A nil redactor knows no secrets.
type redactor struct {
	spellings []spelling            // the longest first
	first     [1 << 16 / 64]uint64  // a bit for each hash of the first bytes of a spelling
	by        map[uint32][]spelling // by the first bytes, the longest first
}

// spelling is one way in which the value of a secret is written.
type spelling struct{ text, reference string }

// newRedactor is nil if there are no values.
func newRedactor(values map[string]string) *redactor {
	if len(values) == 0 {
		return nil
	}
	r := &redactor{}
	for value, name := range values {
		for _, form := range spellings(value) {
			if len(form) >= minSecret {
				r.spellings = append(r.spellings, spelling{form, reference + name})
			}
		}
	}
	slices.SortFunc(r.spellings, func(a, b spelling) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.text+a.reference, b.text+b.reference)
	})
	r.by = make(map[uint32][]spelling, len(r.spellings))
	for _, s := range r.spellings {
		w := binary.LittleEndian.Uint32([]byte(s.text))
		h := guardHash(w)
		r.first[h/64] |= 1 << (h % 64)
		r.by[w] = append(r.by[w], s)
	}
	return r
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

// margin is how many bytes around a cut are looked at: one less than the longest spelling.
func (r *redactor) margin() int {
	if r == nil || len(r.spellings) == 0 {
		return 0
	}
	return len(r.spellings[0].text) - 1
}

// replace puts references in the place of values. Values that overlap are replaced as one, so that no end of one is
// left.
func (r *redactor) replace(text string) string {
	if r == nil {
		return text
	}
	b := []byte(text)
	var out []byte
	done := 0
	for at := 0; at < len(b); at++ {
		s := r.at(b, at)
		if s == nil {
			continue
		}
		end := at + len(s.text)
		for next := at + 1; next < end; next++ {
			if more := r.at(b, next); more != nil {
				end = max(end, next+len(more.text))
			}
		}
		out = append(append(out, b[done:at]...), s.reference...)
		done, at = end, end-1
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
	begin, before := from, ""
	for at := max(0, from-r.margin()); at < begin; at++ { // values may overlap, so that begin moves on
		if s := r.at(b, at); s != nil && at+len(s.text) > begin {
			begin, before = at+len(s.text), s.reference
		}
	}
	if begin >= to && before != "" {
		return []byte(before)
	}
	end, after := to, ""
	for at := to - 1; at >= max(begin, end-r.margin()); at-- {
		if s := r.at(b, at); s != nil && at+len(s.text) > end {
			end, after = at, s.reference
		}
	}
	return slices.Concat([]byte(before), b[begin:end], []byte(after))
}

// at is the longest spelling that is at a place in b.
func (r *redactor) at(b []byte, at int) *spelling {
	if at+minSecret > len(b) {
		return nil
	}
	w := binary.LittleEndian.Uint32(b[at:])
	if h := guardHash(w); r.first[h/64]&(1<<(h%64)) == 0 {
		return nil
	}
	list := r.by[w]
	for i := range list {
		if s := &list[i]; bytes.HasPrefix(b[at:], []byte(s.text)) {
			return s
		}
	}
	return nil
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

// cutMark stands where a text was cut.
const cutMark = "…"

// dropBeginning replaces what a text ends in by the reference of a value, if it is the beginning of one.
func (r *redactor) dropBeginning(s string) string {
	for at := max(0, len(s)-r.margin()); at <= len(s)-minSecret; at++ {
		for _, sp := range r.spellings {
			if strings.HasPrefix(sp.text, s[at:]) {
				return s[:at] + sp.reference
			}
		}
	}
	return s
}
