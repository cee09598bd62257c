package term

import (
	"io"
	"strconv"
	"strings"
	"unicode"
)

// WriteWhole prints all of a text, such that nothing in it is taken for anything else.
func WriteWhole(w io.Writer, text []byte) error {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
			line = strconv.QuoteToASCII(line)
		}
		b.WriteString("  | " + line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
