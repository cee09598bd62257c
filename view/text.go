package view

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/glyph"
)

// Escaped is a rune as people can see it.
func Escaped(r rune) string { return glyph.Escaped(r) }

// InLine is text as part of one line: nothing in it ends the line, and what a door would escape is escaped already, so
// that its width is known.
func InLine(s string) string { return glyph.InLine(s) }

// InText is text of several lines: line ends and tabs stay, and what else is hidden is escaped as InLine does.
func InText(s string) string {
	if !strings.ContainsAny(s, "\n\t") {
		return InLine(s)
	}
	var b strings.Builder
	for {
		i := strings.IndexAny(s, "\n\t")
		if i < 0 {
			return b.String() + InLine(s)
		}
		b.WriteString(InLine(s[:i]) + s[i:i+1])
		s = s[i+1:]
	}
}

// InLines is inLine of each.
func InLines(of []string) []string {
	lines := make([]string, len(of))
	for i, s := range of {
		lines[i] = InLine(s)
	}
	return lines
}

// EscapeJSON is JSON with every hidden rune of its strings as an escape of its own rules.
func EscapeJSON(b []byte) []byte {
	return EscapeHidden(b, func(r rune) string {
		if r < 0x10000 {
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
	})
}

// EscapeHidden replaces the hidden runes that the encoders leave as they are, which is all but C0.
func EscapeHidden(b []byte, as func(rune) string) []byte {
	odd := func(r rune) bool { return r >= 0x7f && glyph.Hidden(r) }
	if !bytes.ContainsFunc(b, odd) {
		return b
	}
	var to []byte
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if odd(r) {
			to = append(to, as(r)...)
		} else {
			to = append(to, b[:size]...)
		}
		b = b[size:]
	}
	return to
}

// OneLine is text without line ends, cut to a width if that is not zero; what is cut is counted. What a terminal would
// not show as it is, is escaped.
func OneLine(s string, width int) string {
	s = InLine(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == ' ' || r == '\n' || r == '\t'
	}), " "))
	return Cut(s, width)
}

// Cut is the beginning of a text that fits a width, and how much more there is.
func Cut(s string, width int) string {
	n := utf8.RuneCountInString(s)
	if width <= 0 || n <= width {
		return s
	}
	more := fmt.Sprintf("… (%d more)", n-width+1)
	return string([]rune(s)[:width-1]) + more
}

// Several is a number of things.
func Several(n int64, what string) string {
	many := what + "s"
	if stem, y := strings.CutSuffix(what, "y"); y && !strings.HasSuffix(stem, "e") {
		many = stem + "ies"
	}
	return Counted(n, what, many)
}

// Counted counts things by the words for one and for many, such as those whose verb follows the number.
func Counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
