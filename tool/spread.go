package tool

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// spread is all that a value says as one text, in the order of its canonical bytes: each text and number on a line of
// its own, without the names of fields, or these names alone. A value of a secret that stands in several of them, as
// when a file is read into a list of lines, is found in it as it is in one text that has line breaks.
type spread struct {
	names bool
	text  []byte
	ends  []int  // where each line ends, in order
	spans []span // what is to be taken out, in order
}

// otherValue is the line of a value that is neither text nor a whole number.
const otherValue = "null"

// read adds what a value says.
func (s *spread) read(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.read(e)
		}
	case map[string]any:
		for _, k := range canonicalKeys(v) {
			if s.names {
				s.add(k)
			}
			s.read(v[k])
		}
	default:
		if !s.names {
			s.add(line(v))
		}
	}
}

// add adds a line.
func (s *spread) add(line string) {
	s.text = append(append(s.text, line...), '\n')
	s.ends = append(s.ends, len(s.text)-1)
}

// line is what a value says that is no list and has no fields.
func line(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	return otherValue
}

// canonicalKeys are the names of fields in the order of canonical bytes: shorter ones first.
func canonicalKeys(m map[string]any) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
}

// crosses reports whether a span is in several lines.
func (s *spread) crosses(one span) bool {
	first, _ := slices.BinarySearch(s.ends, one.from)
	return one.to > s.ends[first]
}

// write is the value that was read without what is to be taken out. At is the line it begins with, and it returns the
// one after it.
func (s *spread) write(v any, at int) (any, int) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i], at = s.write(v[i], at)
		}
		return v, at
	case map[string]any:
		for _, k := range canonicalKeys(v) {
			v[k], at = s.write(v[k], at)
		}
		return v, at
	}
	left, changed := s.left(at)
	if !changed {
		return v, at + 1
	}
	if _, bytes := v.([]byte); bytes {
		return []byte(left), at + 1
	}
	return left, at + 1
}

// writeNames is the value that was read with other names for fields whose names hold what is to be taken out: the
// reference, and a number.
func (s *spread) writeNames(v any, at int) (any, int) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i], at = s.writeNames(v[i], at)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range canonicalKeys(v) {
			name := k
			if secret := s.secretIn(at); secret != "" {
				name = reference + secret + " " + strconv.Itoa(at+1)
			}
			out[name], at = s.writeNames(v[k], at+1)
		}
		return out, at
	}
	return v, at
}

// secretIn is the name of the secret that a line holds some of; empty: none.
func (s *spread) secretIn(at int) string {
	from, to := 0, s.ends[at]
	if at > 0 {
		from = s.ends[at-1] + 1
	}
	first, _ := slices.BinarySearchFunc(s.spans, from, func(one span, from int) int { return one.to - from - 1 })
	if first < len(s.spans) && s.spans[first].from < to {
		return s.spans[first].name
	}
	return ""
}

// left is what is left of a line. Lines are asked for in order. The first of several that a secret is in gets the
// reference to it.
func (s *spread) left(at int) (text string, changed bool) {
	from, to := 0, s.ends[at]
	if at > 0 {
		from = s.ends[at-1] + 1
	}
	var out []byte
	for len(s.spans) > 0 && s.spans[0].from < to {
		one := s.spans[0]
		if one.from >= from {
			out = append(append(append(out, s.text[from:one.from]...), reference...), one.name...)
		}
		from, changed = min(one.to, to), true
		if one.to > to {
			break // it goes on
		}
		s.spans = s.spans[1:]
	}
	return string(append(out, s.text[from:to]...)), changed
}

// replaceSpread puts references in the place of values that are spread over several texts of v, or over the names of
// its fields, and reports whether there were any. It changes v.
func (r *redactor) replaceSpread(v any) (any, bool) {
	if r == nil || len(r.plain.by) == 0 {
		return v, false
	}
	named := r.spreadIn(v, true)
	if len(named.spans) > 0 {
		v, _ = named.writeNames(v, 0)
	}
	if len(r.spreadIn(v, false).spans) == 0 {
		return v, len(named.spans) > 0
	}
	v, _ = eachText(v, r.replaceExact) // two values after each other are not a longer one
	v, _ = r.spreadIn(v, false).write(v, 0)
	return v, true
}

// spreadIn is a value, or the names of its fields, as one text, and where values of secrets are in several lines of it.
func (r *redactor) spreadIn(v any, names bool) *spread {
	s := &spread{names: names}
	if s.read(v); len(s.ends) > 1 {
		s.spans = slices.DeleteFunc(r.spans(s.text), func(one span) bool { return !s.crosses(one) })
	}
	return s
}

// nest is a list or record that is being read: how many items are left, and whether every other one is a name.
type nest struct {
	left  uint64
	named bool
}

// spreadBytes appends to text what the value in canonical bytes says, as spread does, and to names the names of its
// fields. It returns how many lines of text that are; -1: these are no canonical bytes. Every byte is looked at once.
func spreadBytes(text, names, b []byte) (_, _ []byte, lines int) {
	var nests []nest
	for at := 0; at < len(b); {
		name := false
		for len(nests) > 0 && nests[len(nests)-1].left == 0 {
			nests = nests[:len(nests)-1]
		}
		if in := len(nests) - 1; in >= 0 {
			name = nests[in].named && nests[in].left%2 == 0
			nests[in].left--
		} else if at > 0 {
			return text, names, -1 // there is more than one
		}
		major, n, next := itemHead(b, at)
		if at = next; at > len(b) {
			return text, names, -1
		}
		rest := uint64(len(b) - at)
		switch {
		case major == 2 || major == 3:
			if n > rest {
				return text, names, -1
			}
			if name {
				names = append(append(names, b[at:at+int(n)]...), '\n')
			} else {
				text, lines = append(append(text, b[at:at+int(n)]...), '\n'), lines+1
			}
			at += int(n)
		case major == 4 && n <= rest:
			nests = append(nests, nest{left: n})
		case major == 5 && n <= rest:
			nests = append(nests, nest{2 * n, true})
		case major > 3 && major < 7:
			return text, names, -1
		case name:
		case major == 0:
			text, lines = append(strconv.AppendUint(text, n, 10), '\n'), lines+1
		case major == 1:
			text, lines = append(strconv.AppendInt(text, ^int64(n), 10), '\n'), lines+1
		default:
			text, lines = append(append(text, otherValue...), '\n'), lines+1
		}
	}
	return text, names, lines
}

// itemHead reads the head of an item of CBOR, and where it ends; behind the end of b: it is none.
func itemHead(b []byte, at int) (major byte, n uint64, next int) {
	major, info := b[at]>>5, b[at]&31
	at++
	size := 0
	switch {
	case info < 24:
		return major, uint64(info), at
	case info < 28:
		size = 1 << (info - 24)
	}
	if size == 0 || at+size > len(b) {
		return major, 0, len(b) + 1
	}
	var room [8]byte
	copy(room[8-size:], b[at:at+size])
	return major, binary.BigEndian.Uint64(room[:]), at + size
}
