// Package roff writes text as manual pages have it.
package roff

import (
	"fmt"
	"strings"
	"unicode"
)

// Escape is text as a manual page has it: in ASCII, so that it is read the same everywhere.
func Escape(s string) string {
	var b strings.Builder
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		b.WriteString(`\&`)
	}
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Paragraphs is paragraphs, which are filled, and indented lines, which stay as they are.
func Paragraphs(text string) string {
	var b strings.Builder
	indented := false
	for line := range strings.SplitSeq(text, "\n") {
		switch is := strings.HasPrefix(line, " "); {
		case is && !indented:
			b.WriteString(".nf\n")
			indented = true
		case !is && line != "" && indented:
			b.WriteString(".fi\n")
			indented = false
		}
		if line == "" && !indented {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(Escape(line) + "\n")
	}
	if indented {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// Verbatim is lines that stay as they are.
func Verbatim(text string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(Escape(line) + "\n")
	}
	return b.String() + ".fi\n"
}
