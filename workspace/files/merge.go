package files

import (
	"slices"
	"strings"
	"unicode"
)

// The marks between which texts stand that do not go together, as git writes them.
const (
	markMemory = "<<<<<<< in memory"
	markMiddle = "======="
	markFile   = ">>>>>>> in the file"
	markOne    = "<<<<<<< one version in memory" // of a document that has several, whether or not there is a file
	markOther  = ">>>>>>> another version in memory"
)

// hasMarks reports whether a text has the marks of a conflict: one of ours, or all that git writes around one.
func hasMarks(text string) bool {
	if !strings.Contains(text, "<<<<<<< ") && !strings.Contains(text, ">>>>>>> ") {
		return false // as nearly always
	}
	next := 0 // of those of git
	for _, line := range split(text) {
		switch {
		case line == markMemory || line == markFile || line == markOne || line == markOther:
			return true
		case strings.HasPrefix(line, "<<<<<<< "):
			next = 1
		case next == 1 && line == markMiddle:
			next = 2
		case next == 2 && strings.HasPrefix(line, ">>>>>>> "):
			return true
		}
	}
	return false
}

// merge brings two texts together that were made of one: what either changed is changed, what both added is added
// once. Where both changed the same words, both stand in the result, between marks, and conflict is set. What one
// changed and the other took away stays. Merging the result with either text again changes nothing.
func merge(base, memory, file string) (text string, conflict bool) {
	switch {
	case memory == file || file == base:
		return memory, false
	case memory == base:
		return file, false
	}
	m := merger{lines: true}
	return m.text(base, memory, file), m.conflict
}

// text is merge for whole texts.
func (m *merger) text(base, a, b string) string {
	out := m.merge(split(base), split(a), split(b))
	text := strings.Join(out, "\n")
	if len(out) > 0 && (ended(a) || ended(b)) {
		text += "\n"
	}
	return text
}

// split is the lines of a text.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func ended(text string) bool { return strings.HasSuffix(text, "\n") }

// merger merges lists: the lines of a text, or the words of a line.
type merger struct {
	lines    bool
	versions bool // both are versions in memory
	apart    bool // of which nobody knows what they were made of: what only one says is between marks, too
	conflict bool
	out      []string
}

func (m *merger) merge(base, a, b []string) []string {
	inA, inB := partners(base, a), partners(base, b)
	at, atA, atB := 0, 0, 0
	for k := 0; k <= len(base); k++ {
		toA, toB := len(a), len(b)
		if k < len(base) {
			if inA[k] < 0 || inB[k] < 0 {
				continue // it is not in all three
			}
			toA, toB = inA[k], inB[k]
		}
		m.piece(base[at:k], a[atA:toA], b[atB:toB])
		if k < len(base) {
			m.out = append(m.out, base[k])
		}
		at, atA, atB = k+1, toA+1, toB+1
	}
	return m.out
}

// partners says for each element of base where it is in other; -1: it is not. Where it cannot be told which of several
// alike came or went, it is the first: what two did alike is then in one place, whatever else either changed.
func partners(base, other []string) []int {
	in := make([]int, len(base))
	for i := range in {
		in[i] = -1
	}
	for _, x := range matches(base, other) {
		for n := range x.n {
			in[x.a+n] = x.b + n
		}
	}
	next, to := len(base), len(other) // the partners behind
	for k := len(base) - 1; k >= 0; k-- {
		if in[k] < 0 {
			continue
		}
		switch {
		case next == k+1 && to > in[k]+1 && other[to-1] == base[k]: // something came between
			in[k] = to - 1
		case next > k+1 && to == in[k]+1 && base[next-1] == other[in[k]]: // something went
			in[k], in[next-1] = -1, in[k]
			k = next - 1
		}
		next, to = k, in[k]
	}
	return in
}

// piece adds what becomes of a stretch that somebody changed.
func (m *merger) piece(base, a, b []string) {
	switch {
	case slices.Equal(a, b):
		m.out = append(m.out, a...)
	case m.apart:
		m.clash(a, b)
	case slices.Equal(b, base):
		m.out = append(m.out, a...)
	case slices.Equal(a, base):
		m.out = append(m.out, b...)
	case !m.lines:
		m.conflict = true // words that both changed do not go together
	case len(base) == 0:
		m.both(a, b)
	case m.added(base, a, b, false), m.added(base, b, a, true), m.line(base, a, b):
	case holds(a, b):
		m.out = append(m.out, a...)
	case holds(b, a):
		m.out = append(m.out, b...)
	default:
		m.clash(a, b)
	}
}

// both adds what two have added in one place: what one of them has is not added again.
func (m *merger) both(a, b []string) {
	switch {
	case holds(a, b):
		m.out = append(m.out, a...)
	case holds(b, a):
		m.out = append(m.out, b...)
	default:
		begin := 0
		for begin < min(len(a), len(b)) && a[begin] == b[begin] {
			begin++
		}
		end := 0
		for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
			end++
		}
		m.out = append(m.out, a[:len(a)-end]...)
		m.out = append(m.out, b[begin:]...)
	}
}

// added adds a stretch to which one has only added something, before it or after it, and reports whether that is so.
// Turned says that one is the file.
func (m *merger) added(base, one, other []string, turned bool) bool {
	before, after := []string(nil), []string(nil)
	switch {
	case len(one) > len(base) && slices.Equal(one[:len(base)], base):
		after = one[len(base):]
	case len(one) > len(base) && slices.Equal(one[len(one)-len(base):], base):
		before = one[:len(one)-len(base)]
	default:
		return false
	}
	if holds(other, before) && holds(other, after) { // the other has it, too
		m.out = append(m.out, other...)
		return true
	}
	if otherBase := len(other) > len(base) && len(after) > 0 && slices.Equal(other[:len(base)], base); otherBase {
		m.out = append(m.out, base...)
		if rest := other[len(base):]; turned {
			m.both(rest, after)
		} else {
			m.both(after, rest)
		}
		return true
	}
	m.out = append(append(append(m.out, before...), other...), after...)
	return true
}

// line merges stretches of as many lines line by line, and reports whether they go together. One side may be longer:
// whoever ticks a box often adds a line at the end, too. A tick in the line of another task would have somebody leave
// undone what is to be done. So where it is not sure which line became which, they do not go together.
func (m *merger) line(base, a, b []string) bool {
	n := len(base)
	var more []string
	for len(a) > n && len(b) > n && a[len(a)-1] == b[len(b)-1] { // both have it
		more = slices.Insert(more, 0, a[len(a)-1])
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	switch {
	case !leads(base, a) || !leads(base, b) || len(a) > n && len(b) > n:
		return false
	case len(a) > n:
		more = append(slices.Clone(a[n:]), more...)
	case len(b) > n:
		more = append(slices.Clone(b[n:]), more...)
	}
	var out []string
	for i, was := range base {
		if was != a[i] && was != b[i] && a[i] != b[i] && (!became(base, i, a[i]) || !became(base, i, b[i])) {
			return false
		}
		w := merger{}
		got := w.merge(words(was), words(a[i]), words(b[i]))
		if w.conflict {
			return false
		}
		out = append(out, strings.Join(got, ""))
	}
	m.out = append(append(m.out, out...), more...)
	return true
}

// leads reports whether the first lines of a side are those of base, in their places: there are no more, or nothing but
// ticks changed in them.
func leads(base, side []string) bool {
	if len(side) <= len(base) {
		return len(side) == len(base)
	}
	for i := range base {
		if unticked(side[i]) != unticked(base[i]) {
			return false
		}
	}
	return true
}

// became reports whether line is what a line of base was changed to: it is no other line of base, and more than half of
// the words are the same.
func became(base []string, i int, line string) bool {
	was, is := unticked(base[i]), unticked(line)
	if was == is {
		return true
	}
	if slices.ContainsFunc(base, func(other string) bool { return unticked(other) == is }) {
		return false
	}
	from, to := spoken(was), spoken(is)
	return 2*len(common(from, to)) > max(len(from), len(to))
}

var untick = strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]")

func unticked(line string) string { return untick.Replace(line) }

// spoken are the words of a line without what is between them.
func spoken(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// words are the words of a line, and each character between them.
func words(line string) []string {
	var out []string
	from := -1
	for i, r := range line {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			if from < 0 {
				from = i
			}
			continue
		}
		if from >= 0 {
			out, from = append(out, line[from:i]), -1
		}
		out = append(out, string(r))
	}
	if from >= 0 {
		out = append(out, line[from:])
	}
	return out
}

// holds reports whether part stands in all, in one piece.
func holds(all, part []string) bool {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// clash adds two texts that do not go together.
func (m *merger) clash(a, b []string) {
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	m.conflict = true
	first, last := markMemory, markFile
	if m.versions {
		first, last = markOne, markOther
	}
	m.out = append(append(m.out, a[:begin]...), first)
	m.out = append(append(m.out, a[begin:len(a)-end]...), markMiddle)
	m.out = append(append(m.out, b[begin:len(b)-end]...), last)
	m.out = append(m.out, a[len(a)-end:]...)
}

// common is what two lists have in common, in order.
func common(a, b []string) []string {
	var out []string
	for _, x := range matches(a, b) {
		out = append(out, a[x.a:x.a+x.n]...)
	}
	return out
}
