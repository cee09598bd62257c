package tool

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// normal is a text without what may differ while it says the same: its letters and digits, in lower case. What stands
// for another character (%2f, %252f, \u002f, \x2f, &#47;) is that character, and line breaks, spaces and punctuation
// are gone. So a value is found that was folded, wrapped, escaped twice, or written in capitals.
type normal struct {
	text []byte
	from []int // where each byte of text begins in the original, if places are asked for
	to   []int // and ends
}

// minNormal is the shortest normal form that is looked for: shorter ones come about by chance.
const minNormal = 12

// minStrength is how many bits a normal form must be worth to be looked for: what is worth less is in ordinary text. It
// takes 22 letters, 14 digits, or 11 of both.
const minStrength = 44

// strength is about how many bits it takes to guess a normal form: for words, what a letter of a language is worth.
func strength(form string, words bool) float64 {
	var count [256]float64
	var letters, digits bool
	for _, c := range []byte(form) {
		count[c]++
		letters, digits = letters || c > '9', digits || c <= '9'
	}
	bits, size := 0.0, float64(len(form))
	for _, n := range count {
		if n > 0 {
			bits -= n * math.Log2(n/size)
		}
	}
	each := 4.0
	switch {
	case words && !digits:
		each = 2
	case words && !letters:
		each = 3.3
	}
	if !words {
		return bits * 1.3 // of what programs write, less is there by chance
	}
	return min(bits, each*size)
}

// escapes marks in lowered what may begin an escape.
const escapes = 1

// lowered is the lower case of letters and digits, and zero for all else but escapes.
var lowered = func() (table [256]byte) {
	for c := byte('0'); c <= '9'; c++ {
		table[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		table[c], table[c-'a'+'A'] = c, c
	}
	table['%'], table['\\'], table['&'] = escapes, escapes, escapes
	return table
}()

// normalText is the normal form of a text.
func normalText(s string) string {
	var n normal
	n.read([]byte(s), false)
	return string(n.text)
}

// read makes n the normal form of b. Every byte of b is looked at a bounded number of times.
func (n *normal) read(b []byte, places bool) {
	n.reset(len(b), places)
	if !places {
		n.text = n.text[:readPlain(n.text[:len(b)], b)]
		return
	}
	text, size := n.text[:len(b)], 0
	for at := 0; at < len(b); {
		c, end := lowered[b[at]], at+1
		if c == escapes {
			if c, end = escaped(b, at); c == escapes { // what was escaped is such a sign itself
				c = 0
			}
		}
		if c != 0 {
			text[size] = c
			size++
			n.from, n.to = append(n.from, at), append(n.to, end)
		}
		at = end
	}
	n.text = text[:size]
}

// readPlain is read without places, at every step of every agent. It writes to text, and returns how much. Text is as
// long as b.
func readPlain(text, b []byte) (size int) {
	for at := 0; at < len(b); at++ {
		c := lowered[b[at]]
		if c == escapes {
			var end int
			if c, end = escaped(b, at); c == escapes {
				c = 0
			}
			at = end - 1
		}
		text[size] = c
		size += int((c + 127) >> 7) // one, unless it is zero: no branch that nobody can foresee
	}
	return size
}

// reset makes room for a text.
func (n *normal) reset(size int, places bool) {
	if cap(n.text) < size {
		n.text = make([]byte, size)
	}
	n.text, n.from, n.to = n.text[:0], n.from[:0], n.to[:0]
	if places && cap(n.from) < size {
		n.from, n.to = make([]int, 0, size), make([]int, 0, size)
	}
}

// escaped reads what an escape at a place stands for, in lower case, and where it ends.
func escaped(b []byte, at int) (c byte, end int) {
	r, end := unescaped(b, at)
	return lowered[ascii(int(r))], end
}

// unescaped reads what an escape at a place stands for, and where it ends.
func unescaped(b []byte, at int) (r rune, end int) {
	switch b[at] {
	case '%':
		return percent(b, at)
	case '\\':
		return backslash(b, at)
	}
	return entity(b, at)
}

// percent reads %2f at a place, also if its % was escaped any number of times: %252f.
func percent(b []byte, at int) (r rune, end int) {
	end = at + 1
	for bytes.HasPrefix(b[end:], []byte("25")) {
		end += 2
	}
	if v, ok := hexBytes(b, end, 2); ok {
		return rune(ascii(v)), end + 2 // a byte beyond that is no character by itself
	}
	return '%', end
}

// backslash reads an escape of JSON, C or another language at a place, also if its backslash was escaped any number of
// times.
func backslash(b []byte, at int) (r rune, end int) {
	for end = at + 1; end < len(b) && b[end] == '\\'; end++ {
	}
	if end == len(b) {
		return '\\', end
	}
	digits := 0
	switch b[end] {
	case 'n', 'r', 't':
		return '\n', end + 1
	case 'u', 'x':
		if r, after, ok := braced(b, end+1); ok {
			return r, after
		}
		digits = 4
		if b[end] == 'x' {
			digits = 2
		}
	case 'U':
		digits = 8
	}
	if v, ok := hexBytes(b, end+1, digits); ok && digits > 0 {
		if digits == 2 {
			v = int(ascii(v))
		}
		return rune(min(v, utf8.MaxRune+1)), end + 1 + digits
	}
	return '\\', end
}

// braced reads {6b} at a place, and where it ends.
func braced(b []byte, at int) (r rune, end int, ok bool) {
	const longest = len("{10ffff}")
	if at >= len(b) || b[at] != '{' {
		return 0, 0, false
	}
	size := bytes.IndexByte(b[at:min(len(b), at+longest)], '}') - 1
	if size < 1 {
		return 0, 0, false
	}
	v, ok := hexBytes(b, at+1, size)
	return rune(min(v, utf8.MaxRune+1)), at + size + 2, ok
}

// entity reads &#47; &#x2f; or &quot; at a place, also if its & was escaped any number of times.
func entity(b []byte, at int) (r rune, end int) {
	end = at + 1
	for bytes.HasPrefix(b[end:], []byte("amp;")) {
		end += len("amp;")
	}
	const longest = 8
	size := bytes.IndexByte(b[end:min(len(b), end+longest)], ';')
	if size < 2 {
		return '&', end
	}
	name := b[end : end+size]
	switch {
	case name[0] != '#':
		for _, known := range []string{"lt", "gt", "quot", "apos", "nbsp"} {
			if string(name) == known {
				return '&', end + size + 1
			}
		}
		return '&', end
	case name[1] == 'x' || name[1] == 'X':
		if v, ok := hexBytes(b, end+2, size-2); ok && size > 2 {
			return rune(v), end + size + 1
		}
		return '&', end
	}
	v := 0
	for _, d := range name[1:] {
		if d < '0' || d > '9' {
			return '&', end
		}
		v = v*10 + int(d-'0')
	}
	return rune(v), end + size + 1
}

// ascii is a code point as a byte, and zero for one that is no ASCII.
func ascii(v int) byte {
	if v < 0 || v > 127 {
		return 0
	}
	return byte(v)
}

// hexBytes is the number that so many hexadecimal digits at a place write.
func hexBytes(b []byte, at, digits int) (v int, ok bool) {
	if at+digits > len(b) {
		return 0, false
	}
	for _, c := range b[at : at+digits] {
		d := hexDigit(c)
		if d < 0 {
			return 0, false
		}
		v = v<<4 | d
	}
	return v, true
}

// hexDigits are the values of hexadecimal digits, and -1 for all else.
var hexDigits = func() (table [256]int8) {
	for c := range table {
		table[c] = -1
		if d, err := strconv.ParseUint(string(rune(c)), 16, 8); err == nil {
			table[c] = int8(d)
		}
	}
	return table
}()

func hexDigit(c byte) int { return int(hexDigits[c]) }

// readDump makes n the hexadecimal digits of the dump in b, such as xxd and hexdump -C print it: of each line what is
// between the offset and the characters. It reports whether there are any.
func (n *normal) readDump(b []byte, places bool) bool {
	n.reset(len(b), places)
	for at, found := afterOffset(b, 0); found; at, found = afterOffset(b, at) {
		at = n.dumpLine(b, at, places)
	}
	return len(n.text) > 0
}

// offsetDigits is how many digits the offset of a line has at least.
const offsetDigits = 6

// afterOffset finds the next offset: so many digits and a colon or a space. It looks at few bytes of other text.
func afterOffset(b []byte, at int) (after int, found bool) {
	for at+offsetDigits < len(b) {
		last := offsetDigits - 1
		for last >= 0 && hexDigit(b[at+last]) >= 0 {
			last--
		}
		if last >= 0 {
			at += last + 1
			continue
		}
		for at += offsetDigits; at < len(b) && hexDigit(b[at]) >= 0; at++ {
		}
		if at < len(b) && (b[at] == ':' || b[at] == ' ') {
			return at, true
		}
	}
	return 0, false
}

// dumpLine reads the digits of one line of a dump after its offset, and returns where they end.
func (n *normal) dumpLine(b []byte, at int, places bool) int {
	gaps := 1 // hexdump -C parts its line in two
	if b[at] == ':' {
		at, gaps = at+1, 0
	}
	for at < len(b) && b[at] == ' ' {
		at++
	}
	for at+1 < len(b) && hexDigit(b[at]) >= 0 && hexDigit(b[at+1]) >= 0 {
		n.text = append(n.text, lowered[b[at]], lowered[b[at+1]])
		if places {
			n.from, n.to = append(n.from, at, at+1), append(n.to, at+1, at+2)
		}
		if at += 2; at < len(b) && b[at] == ' ' {
			at++
		}
		if at < len(b) && b[at] == ' ' && gaps > 0 {
			at, gaps = at+1, gaps-1
		}
	}
	return at
}
