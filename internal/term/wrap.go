package term

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	eastasian "golang.org/x/text/width"

	"github.com/perdure/perdure/view"
)

// nearLeft is where lines go on that have no room further right.
const nearLeft = 8

// PipeWidth is how wide text is that people read through a pipe, such as in a pager: as COLUMNS says, or 80.
func PipeWidth() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= minRoom {
		return n
	}
	return 80
}

// Reflow is text whose lines fit a width: paragraphs are filled, and lines that begin with a space go on under their
// last column, with the lines below that begin there. An example is left as it is: people copy it. A width of zero
// leaves all as it is.
func Reflow(text string, width int) string {
	if width < minRoom {
		return text
	}
	var out []string
	asIs := map[int]bool{}
	open, column, example := false, 0, false // whether the last line may go on, and where
	for line := range strings.SplitSeq(text, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if line != "" && indent == 0 {
			example = line == "Example" || line == "Examples"
		}
		switch last := len(out) - 1; {
		case line == "" || example:
			out, open, asIs[len(out)] = append(out, line), false, true
		case open && indent == column && (indent == 0 || LastColumn(line) == column):
			out[last] += " " + line[indent:]
		default:
			out, column = append(out, line), LastColumn(line)
			open = indent == 0 || column > indent
			if indent == 0 {
				column = 0
			}
		}
	}
	for i, line := range out {
		column := 0
		if strings.HasPrefix(line, " ") {
			column = LastColumn(line)
		}
		if !asIs[i] {
			out[i] = Hang(line, column, width)
		}
	}
	return strings.Join(out, "\n")
}

// LastColumn is where the text of a line begins: behind its indent and, in a list, behind the first word and the spaces
// after it.
func LastColumn(line string) int {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if word := strings.Index(line[indent:], "  "); word > 0 {
		rest := line[indent+word:]
		return indent + word + len(rest) - len(strings.TrimLeft(rest, " "))
	}
	return indent
}

// Hang breaks a line to a width, between words; what goes on begins in a column, or further left where that leaves no
// room.
func Hang(line string, column, width int) string {
	if width-column < minRoom {
		column = min(column, nearLeft)
	}
	if Columns(line) <= width || width-column < minRoom {
		return line
	}
	head, rest := breakAtWord(line, width)
	for rest != "" {
		var part string
		part, rest = breakAtWord(rest, width-column)
		head += "\n" + strings.Repeat(" ", column) + part
	}
	return head
}

// Say writes lines of prose; on a terminal they are broken between words to its width, and what goes on is marked. A
// word stays whole, such as a hash or a key, and so does a line that is a command: they are there to be copied.
func Say(w io.Writer, text string) error {
	width := WidthOf(w)
	var b strings.Builder
	for line := range strings.Lines(text) {
		flow(&b, line, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// isCommand reports whether a line is there to be copied whole.
func isCommand(line string) bool { return strings.HasPrefix(line, "perdure ") }

func flow(b *strings.Builder, line string, width int) {
	const mark = "  > "
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if width-indent-len(mark) < minRoom || isCommand(line[indent:]) {
		b.WriteString(line)
		return
	}
	at, before := indent-1, line[:indent]
	for word := range strings.SplitSeq(line[indent:], " ") {
		room := columnsOf(strings.TrimSuffix(word, "\n"))
		if before == " " && at+1+room > width {
			before, at = "\n"+line[:indent]+mark, indent+len(mark)-1
		}
		b.WriteString(before + word)
		at, before = at+1+room, " "
	}
}

// Wrapped is a line with a label, broken to a width; what goes on is marked and begins under the text. A width of zero
// breaks nothing, and a command stays whole.
func Wrapped(label, text string, width int, tint func(string) string) string {
	indent := utf8.RuneCountInString(label)
	if strings.TrimSpace(label) != "" {
		label = tint(label)
	} else if text == "" {
		return ""
	}
	return Folded(label, indent, text, width)
}

// Folded is text behind a head that takes so many columns, broken to a width.
func Folded(head string, indent int, text string, width int) string {
	return folded(head, indent, text, width, minRoom)
}

// folded is Folded with text below its head where it would have less than so much room.
func folded(head string, indent int, text string, width, least int) string {
	room := width - indent
	if width < minRoom || Columns(text) <= room || isCommand(text) {
		return strings.TrimRight(head+text, " ") + "\n"
	}
	var b strings.Builder
	mark := ""
	if room < least { // the text begins below its head
		b.WriteString(strings.TrimRight(head, " ") + "\n")
		head, indent, room, mark = "    ", 4, width-4, "> "
	}
	for text != "" {
		var part string
		part, text = breakAfterSpace(text, room-len(mark))
		b.WriteString(head + mark + part + "\n")
		head, mark = strings.Repeat(" ", indent), "> "
	}
	return b.String()
}

// Paragraphs is a text of several lines behind an indent, which tells it from lines of the program's own. On a terminal
// lines end between words.
func Paragraphs(indent, text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		for {
			part, rest := breakAtWord(line, width-Columns(indent))
			b.WriteString(strings.TrimRight(indent+view.InLine(part), " ") + "\n")
			if line = rest; line == "" {
				break
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// breakAtWord parts text before the word that does not fit a width; a word that is longer is parted itself. A width of
// less than minRoom breaks nothing.
func breakAtWord(text string, width int) (head, rest string) {
	if width < minRoom || Columns(text) <= width {
		return text, ""
	}
	head, rest = breakAt(text, width)
	if i := strings.LastIndexByte(head, ' '); i > 0 && !strings.HasPrefix(rest, " ") {
		head, rest = text[:i], text[i:]
	}
	return strings.TrimRight(head, " "), strings.TrimLeft(rest, " ")
}

// breakAfterSpace parts text where it fills a width, after the last space if there is one in the second half. Nothing
// is left out: the parts are the text.
func breakAfterSpace(text string, width int) (head, rest string) {
	head, rest = breakAt(text, width)
	if i := strings.LastIndexByte(head, ' '); rest != "" && i > len(head)/2 {
		return text[:i+1], text[i+1:]
	}
	return head, rest
}

// minRoom is the least room that text is broken into. A terminal that is narrower breaks it itself.
const minRoom = 16

// breakAt parts text where it fills a width; at least one rune goes first.
func breakAt(text string, width int) (head, rest string) {
	used, last := 0, 0
	for i, r := range text {
		w := runeColumns(r, last)
		if i > 0 && used+w > width {
			return text[:i], text[i:]
		}
		if used += w; w > 0 {
			last = w
		}
	}
	return text, ""
}

// Columns is how many columns a text takes.
func Columns(s string) (n int) {
	last := 0
	for _, r := range s {
		w := runeColumns(r, last)
		if n += w; w > 0 {
			last = w
		}
	}
	return n
}

// pictured asks for the sign before it as a picture, which is wide.
const pictured = '\ufe0f'

// runeColumns is how many columns a rune takes after one that takes so many: two for scripts and signs that are wide,
// none for what goes onto the sign before it.
func runeColumns(r rune, after int) int {
	switch {
	case r == pictured && after == 1:
		return 1
	case r >= 0x1f3fb && r <= 0x1f3ff && after == 2: // the tone of a skin
		return 0
	case r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	case r >= 0x1f000:
		return 2
	}
	if k := eastasian.LookupRune(r).Kind(); k == eastasian.EastAsianWide || k == eastasian.EastAsianFullwidth {
		return 2
	}
	return 1
}
