package canon

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// lexer reads JSON tokens. It accepts every valid spelling and checks UTF-8 and surrogates; whether a spelling is the
// canonical one is for its callers to say.
type lexer struct {
	b []byte
	i int
}

func (l *lexer) reject(pred string, at int, got, want string) *Rejection {
	return reject(pred, int64(at), got, want)
}

// unexpected rejects what is at the current position.
func (l *lexer) unexpected(want string) *Rejection {
	if l.i >= len(l.b) {
		return l.reject(PredTextJSON, l.i, "the end", want)
	}
	return l.reject(PredTextJSON, l.i, fmt.Sprintf("%q", l.b[l.i]), want)
}

func (l *lexer) space() {
	for l.i < len(l.b) {
		switch l.b[l.i] {
		case ' ', '\t', '\n', '\r':
			l.i++
		default:
			return
		}
	}
}

// peek returns the next byte that is not space, or 0 at the end.
func (l *lexer) peek() byte {
	l.space()
	if l.i < len(l.b) {
		return l.b[l.i]
	}
	return 0
}

// accept moves past c if it is next.
func (l *lexer) accept(c byte) bool {
	if l.peek() != c || l.i >= len(l.b) {
		return false
	}
	l.i++
	return true
}

func (l *lexer) word(w string) *Rejection {
	if len(l.b)-l.i < len(w) || string(l.b[l.i:l.i+len(w)]) != w {
		return l.unexpected(w)
	}
	l.i += len(w)
	return nil
}

// number returns the number at the current position as spelled.
func (l *lexer) number() ([]byte, *Rejection) {
	from := l.i
	digits := func() bool {
		start := l.i
		for l.i < len(l.b) && '0' <= l.b[l.i] && l.b[l.i] <= '9' {
			l.i++
		}
		return l.i > start
	}
	if l.i < len(l.b) && l.b[l.i] == '-' {
		l.i++
	}
	first := l.i
	if !digits() {
		return nil, l.unexpected("a digit")
	}
	if l.b[first] == '0' && l.i > first+1 {
		return nil, l.reject(PredTextJSON, first, "a leading zero", "a number")
	}
	if l.i < len(l.b) && l.b[l.i] == '.' {
		l.i++
		if !digits() {
			return nil, l.unexpected("a digit")
		}
	}
	if l.i < len(l.b) && (l.b[l.i] == 'e' || l.b[l.i] == 'E') {
		l.i++
		if l.i < len(l.b) && (l.b[l.i] == '+' || l.b[l.i] == '-') {
			l.i++
		}
		if !digits() {
			return nil, l.unexpected("a digit")
		}
	}
	return l.b[from:l.i], nil
}

// text returns the content of the string at the current position. It shares memory with the input if it has no escapes.
func (l *lexer) text() (string, *Rejection) {
	if !l.accept('"') {
		return "", l.unexpected("a string")
	}
	from := l.i
	l.i += plainLen(l.b[from:])
	if l.i < len(l.b) && l.b[l.i] == '"' {
		s := l.b[from:l.i]
		l.i++
		return str(s), l.utf8(s, from)
	}
	out := append([]byte(nil), l.b[from:l.i]...)
	if r := l.utf8(out, from); r != nil {
		return "", r
	}
	for l.i < len(l.b) {
		switch c := l.b[l.i]; {
		case c == '"':
			l.i++
			return str(out), nil
		case c < ' ':
			return "", l.reject(PredTextJSON, l.i, fmt.Sprintf("byte %02x in a string", c), "an escape")
		case c == '\\':
			var r *Rejection
			if out, r = l.escape(out); r != nil {
				return "", r
			}
		default:
			run := l.i
			l.i += plainLen(l.b[run:])
			if r := l.utf8(l.b[run:l.i], run); r != nil {
				return "", r
			}
			out = append(out, l.b[run:l.i]...)
		}
	}
	return "", l.unexpected("the end of the string")
}

// plainLen is how many bytes at the start of b stand for themselves in a string: up to a quote, a backslash or a
// control character.
func plainLen(b []byte) int {
	const ones = highBits / 128
	i := 0
	for ; len(b)-i >= 8; i += 8 { // eight at once: the lowest high bit set marks the first that does not
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		if m := ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highBits; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

func (l *lexer) utf8(s []byte, at int) *Rejection {
	if bad := verbatimFault(s); bad >= 0 {
		return textRejection(PredUTF8, at+bad, s[bad:])
	}
	return nil
}

// escape appends the character of the escape at the current position to out.
func (l *lexer) escape(out []byte) ([]byte, *Rejection) {
	at := l.i
	l.i++
	if l.i >= len(l.b) {
		return nil, l.unexpected("an escape")
	}
	c := l.b[l.i]
	l.i++
	switch c {
	case '"', '\\', '/':
		return append(out, c), nil
	case 'b':
		return append(out, '\b'), nil
	case 't':
		return append(out, '\t'), nil
	case 'n':
		return append(out, '\n'), nil
	case 'f':
		return append(out, '\f'), nil
	case 'r':
		return append(out, '\r'), nil
	case 'u':
		r, rej := l.unit()
		if rej != nil {
			return nil, rej
		}
		if !utf16.IsSurrogate(r) {
			return utf8.AppendRune(out, r), nil
		}
		if len(l.b)-l.i >= 2 && l.b[l.i] == '\\' && l.b[l.i+1] == 'u' {
			l.i += 2
			low, rej := l.unit()
			if rej != nil {
				return nil, rej
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return utf8.AppendRune(out, r), nil
			}
		}
		return nil, l.reject(PredTextSurrogate, at, "a lone surrogate", "a pair")
	}
	l.i--
	return nil, l.unexpected("an escape")
}

// unit reads four hex digits.
func (l *lexer) unit() (rune, *Rejection) {
	var r rune
	for range 4 {
		if l.i >= len(l.b) {
			return 0, l.unexpected("a hex digit")
		}
		c := l.b[l.i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, l.unexpected("a hex digit")
		}
		r = r<<4 | rune(c)
		l.i++
	}
	return r, nil
}
