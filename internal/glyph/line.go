package glyph

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Escaped is a rune as people can see it.
func Escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// InLine is text as part of one line: nothing in it ends the line, and what is hidden is escaped. It is the one way
// in which words of agents and of strangers are shown to people, wherever that is.
func InLine(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return Hidden(r) || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case Hidden(r):
			b.WriteString(Escaped(r))
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}
