package term

import (
	"io"
	"strconv"
	"strings"
	"unicode"
)

// WriteWhole prints all of a text, such that nothing in it is taken for anything else: a bar stands before each line, a
// mark before what goes on where the terminal ends, and a tab takes as much room as is counted for it.
func WriteWhole(w io.Writer, text []byte) error {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
			line = strconv.QuoteToASCII(line)
		}
		b.WriteString(Folded(wholeMark, len(wholeMark), strings.ReplaceAll(line, "\t", "→   "), WidthOf(w)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wholeMark stands before every line of a text that somebody else wrote.
const wholeMark = "  | "
