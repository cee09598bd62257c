package tool

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// readLoose makes n the normal form of b as somebody reads it on a screen or page: letters and digits that are drawn
// in another way (full width, bold, in a circle) are those letters, what colours a terminal is gone, and so are the
// numbers of lines. Every byte of b is looked at a bounded number of times.
func (n *normal) readLoose(b []byte, places bool) {
	n.reset(len(b), places)
	for at := 0; at < len(b); {
		if at == 0 || b[at-1] == '\n' {
			if after := afterNumber(b, at); after > at {
				at = after
				continue
			}
		}
		c, end := rune(b[at]), at+1
		switch {
		case c >= utf8.RuneSelf:
			var size int
			c, size = utf8.DecodeRune(b[at:])
			end = at + size
		case lowered[c] == escapes:
			if c, end = unescaped(b, at); c == '\\' {
				c, end = namedEscape(b, end)
			}
		}
		if c == escape {
			end = afterColour(b, end)
		} else if c >= utf8.RuneSelf {
			n.fold(c, at, end, places)
		} else if l := lowered[c]; l > escapes {
			n.add(l, at, end, places)
		}
		at = end
	}
}

// add appends a byte that stands for what is between two places.
func (n *normal) add(c byte, from, to int, places bool) {
	n.text = append(n.text, c)
	if places {
		n.from, n.to = append(n.from, from), append(n.to, to)
	}
}

// fold appends the letters and digits that a character is drawn from: two at most, as in a ligature.
func (n *normal) fold(r rune, from, to int, places bool) {
	letters, most := drawn(r), 2
	for _, c := range letters {
		if l := lowered[c]; l > escapes && most > 0 {
			n.add(l, from, to, places)
			most--
		}
	}
}

// drawn are the bytes that a character is a drawing of by Unicode; none: it is itself.
func drawn(r rune) []byte {
	var room [utf8.UTFMax]byte
	return norm.NFKD.Properties(room[:utf8.EncodeRune(room[:], r)]).Decomposition()
}

const escape = 0x1b

// namedEscape reads what is behind a backslash for the escape character of a colour, e or 033, and where it ends.
func namedEscape(b []byte, at int) (r rune, end int) {
	for _, name := range []string{"e", "033"} {
		if after := at + len(name); bytes.HasPrefix(b[at:], []byte(name)) && afterColour(b, after) > after {
			return escape, after
		}
	}
	return '\\', at
}

// afterColour is where a control sequence of a terminal ends whose escape character ends at a place; that place, if
// there is none.
func afterColour(b []byte, at int) int {
	if at >= len(b) || b[at] != '[' {
		return at
	}
	end := at + 1
	for end < len(b) && b[end] >= ' ' && b[end] <= '?' {
		end++
	}
	if end < len(b) && b[end] >= '@' && b[end] <= '~' {
		return end + 1
	}
	return at
}

// maxNumber is how many digits the number of a line has at most: the offsets of od count as such.
const maxNumber = 8

// afterNumber is where the number ends that the line at a place begins with, as cat -n, grep -n and od write it; that
// place, if there is none. What goes on with a letter is none.
func afterNumber(b []byte, at int) int {
	begin := at
	for begin < len(b) && (b[begin] == ' ' || b[begin] == '\t') {
		begin++
	}
	end := begin
	for end < len(b) && end-begin <= maxNumber && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	if end == begin || end-begin > maxNumber || end < len(b) && lowered[b[end]] > escapes {
		return at
	}
	return end
}

// readNumbers makes n the normal form of the bytes whose numbers stand in b, decimal or as 0x6b, whatever is between
// them: a list of bytes in JSON, Go or C, and the dumps of xxd -i and od -t u1. It reports whether there are any.
func (n *normal) readNumbers(b []byte, places bool) bool {
	n.reset(len(b), places)
	for at := 0; at < len(b); at++ {
		if lowered[b[at]] <= escapes {
			continue
		}
		begin := at
		for at++; at < len(b) && lowered[b[at]] > escapes; at++ {
		}
		if c := lowered[byteOf(b[begin:at])]; c > escapes {
			n.add(c, begin, at, places)
		}
	}
	return len(n.text) > 0
}

// byteOf is the byte that a word is the number of, and zero for every other word.
func byteOf(word []byte) byte {
	const longest = len("0x6b")
	if len(word) > longest || word[0] > '9' {
		return 0
	}
	if len(word) > 2 && word[0] == '0' && word[1]|0x20 == 'x' {
		v, _ := hexBytes(word, 2, len(word)-2)
		return byte(v)
	}
	v := 0
	for _, d := range word {
		if d < '0' || d > '9' {
			return 0
		}
		v = v*10 + int(d-'0')
	}
	return ascii(v)
}

// What a text has that has another normal form when it is read loosely, or as numbers; in this order, since most have
// no more than blanks.
const (
	marksBlank  = 1 + iota // before the number of a line
	marksDigit             // a digit
	marksLoose             // an escape character
	marksEscape            // what may stand for one, or for another character
	marksBeyond            // a character that is not ASCII may begin
)

var marks = func() (table [256]byte) {
	for c := '0'; c <= '9'; c++ {
		table[c] = marksDigit
	}
	for c := 0xc2; c <= 0xf4; c++ {
		table[c] = marksBeyond
	}
	table['\n'], table[' '], table['\t'] = marksBlank, marksBlank, marksBlank
	table[escape], table['\\'], table['&'] = marksLoose, marksEscape, marksEscape
	return table
}()

// peculiar reports whether a text is worth reading loosely, and as numbers: most are neither.
func peculiar(b []byte) (loose, numbers bool) {
	words := 0 // that begin with a digit
	var before byte
	for at, c := range b {
		mark := marks[c]
		if mark > marksBlank {
			switch {
			case mark == marksDigit && before != marksDigit:
				words++
				loose = loose || before == marksBlank
			case mark == marksLoose:
				loose = true
			case mark == marksEscape && !loose:
				loose = at+1 < len(b) && strings.IndexByte("uUxe0#", b[at+1]) >= 0
			case mark == marksBeyond && !loose:
				loose = drawsLetters(b[at:])
			}
		}
		before = mark
	}
	return loose, words >= minNormal
}

// drawsLetters reports whether a text begins with a character that is drawn from letters or digits.
func drawsLetters(b []byte) bool {
	r, size := utf8.DecodeRune(b)
	if size < 2 {
		return false
	}
	for _, c := range drawn(r) {
		if lowered[c] > escapes {
			return true
		}
	}
	return false
}
