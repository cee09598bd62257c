package term

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/view"
)

// Door is the one way from the program to standard output and standard error. What it lets through cannot rule a
// terminal or show something other than what is there: controls, escape sequences, what turns the direction of text,
// what has no width, and bytes that are not UTF-8 come out as escapes such as \x1b or \u202e. Only newlines, tabs and
// the program's own styles (see own) pass as they are.
//
// Names, goals, arguments, results and errors are written by agents, models and strangers. They are made harmless here,
// once, and not at each place that prints.
type Door struct {
	w io.Writer

	mu    sync.Mutex
	held  []byte // the beginning of a rune or of an own sequence, whose end has not been written yet
	marks int    // how many combining marks came in a row
}

// maxMarks is how many combining marks may follow each other. Languages need two or three; a pile of them covers the
// lines above.
const maxMarks = 4

// ownMark stands around what the program itself says to the terminal. It is not UTF-8 and nobody outside this process
// can guess it, so no text can carry it.
var ownMark = "\xff" + rand.Text()

// maxOwn bounds a sequence of the program's own.
const maxOwn = 16

// own is a control sequence that a door lets through.
func own(sequence string) string { return ownMark + sequence + ownMark }

// NewDoor is the door to w.
func NewDoor(w io.Writer) *Door { return &Door{w: w} }

// Write lets text through.
func (d *Door) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := p
	if len(d.held) > 0 {
		text = append(d.held, p...)
	}
	clean, rest := d.pass(make([]byte, 0, len(text)), text)
	d.held = bytes.Clone(rest)
	if _, err := d.w.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was held back for an end that never came.
func (d *Door) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var clean []byte
	for _, c := range d.held {
		if c < utf8.RuneSelf {
			clean = append(clean, c) // of the beginning of a mark, which holds letters and digits only
		} else {
			clean = fmt.Appendf(clean, `\x%02x`, c)
		}
	}
	d.held = nil
	if len(clean) == 0 { // an error that was met before is not met again
		return nil
	}
	_, err := d.w.Write(clean)
	return err
}

// pass appends what may be seen of text, and returns what must wait for the next write.
func (d *Door) pass(to, text []byte) (clean, rest []byte) {
	for len(text) > 0 {
		if c := text[0]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			to, text, d.marks = append(to, c), text[1:], 0
			continue
		}
		if text[0] == ownMark[0] {
			sequence, size, partial := cutOwn(text)
			if partial {
				return to, text
			}
			if size > 0 {
				to, text = append(to, sequence...), text[size:]
				continue
			}
		}
		if !utf8.FullRune(text) {
			return to, text
		}
		r, size := utf8.DecodeRune(text)
		if unicode.In(r, unicode.Mn, unicode.Me) {
			d.marks++
		} else {
			d.marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			to = fmt.Appendf(to, `\x%02x`, text[0])
		case glyph.Hidden(r) || d.marks > maxMarks:
			to = append(to, view.Escaped(r)...)
		default:
			to = append(to, text[:size]...)
		}
		text = text[size:]
	}
	return to, nil
}

// cutOwn is the sequence that text begins with, if it begins with one, and how long it is with its marks.
func cutOwn(text []byte) (sequence []byte, size int, partial bool) {
	after, is := bytes.CutPrefix(text, []byte(ownMark))
	if !is {
		return nil, 0, len(text) < len(ownMark) && strings.HasPrefix(ownMark, string(text))
	}
	sequence, _, whole := bytes.Cut(after, []byte(ownMark))
	switch {
	case whole && len(sequence) <= maxOwn:
		return sequence, len(sequence) + 2*len(ownMark), false
	case !whole && len(after) < maxOwn+len(ownMark):
		return nil, 0, true
	}
	return nil, 0, false
}

// Fd is that of what it writes to, so that a terminal is known as one.
func (d *Door) Fd() uintptr { return fdOf(d.w) }

// styled says that own sequences pass.
func (d *Door) styled() bool { return true }

// fdOf is the descriptor of a file, and one that is no terminal of anything else.
func fdOf(w io.Writer) uintptr {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Raw is what w writes to, for bytes that are not meant for people: a capsule, a value in a binary form. A terminal
// never gets raw bytes.
func Raw(w io.Writer) io.Writer {
	if d, ok := w.(*Door); ok && !IsTerminal(d) {
		return d.w
	}
	return w
}

// escapeYAML is YAML with every hidden rune as an escape. Those runes stand in double quotes only.
func escapeYAML(b []byte) []byte {
	return view.EscapeHidden(b, func(r rune) string {
		if r < 0x10000 {
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})
}

// JSONDoor writes lines of JSON that somebody else made to w, with every hidden rune as an escape.
func JSONDoor(w io.Writer) io.Writer { return jsonDoor{w} }

type jsonDoor struct{ w io.Writer }

func (j jsonDoor) Write(p []byte) (int, error) {
	if _, err := j.w.Write(view.EscapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
