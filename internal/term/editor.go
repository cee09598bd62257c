package term

import (
	"slices"
	"strings"
	"unicode"
)

// editor is a text that a person edits. The zero editor is empty.
type editor struct {
	text []rune
	at   int    // where the cursor is
	cut  []rune // what was cut last

	history []string // what was sent before, oldest first
	back    int      // how far back in it they look; zero: at what they write
	own     []rune   // what they write, meanwhile
}

func (e *editor) String() string { return string(e.text) }

// set replaces the text.
func (e *editor) set(text string) { e.text, e.at = []rune(text), len([]rune(text)) }

// clear empties the text, and what was sent before begins at its end again.
func (e *editor) clear() { e.text, e.at, e.back, e.own = nil, 0, 0, nil }

func (e *editor) insert(text string) {
	add := []rune(text)
	e.text = slices.Insert(e.text, e.at, add...)
	e.at += len(add)
}

// apply edits the text as a key says, and reports whether the key is for that.
func (e *editor) apply(p press) bool {
	switch p.key {
	case keyText, keyPaste:
		e.insert(p.text)
	case keyNewline:
		e.insert("\n")
	case keyLeft:
		e.at = max(0, e.at-1)
	case keyRight:
		e.at = min(len(e.text), e.at+1)
	case keyHome:
		e.at = e.lineBegin()
	case keyEnd:
		e.at = e.lineEnd()
	case keyWordLeft:
		e.at = e.wordLeft()
	case keyWordRight:
		e.at = e.wordRight()
	case keyUp:
		e.vertical(-1)
	case keyDown:
		e.vertical(1)
	default:
		return e.remove(p.key)
	}
	return true
}

// remove takes text away, as a key says.
func (e *editor) remove(k key) bool {
	switch k {
	case keyBackspace:
		e.drop(max(0, e.at-1), e.at)
	case keyDelete:
		e.drop(e.at, min(len(e.text), e.at+1))
	case keyCutWord:
		e.take(e.wordLeft(), e.at)
	case keyCutNextWord:
		e.take(e.at, e.wordRight())
	case keyCutLeft:
		e.take(e.lineBegin(), e.at)
	case keyCutRight:
		e.take(e.at, e.lineEnd())
	case keyYank:
		e.insert(string(e.cut))
	default:
		return false
	}
	return true
}

func (e *editor) drop(from, to int) {
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

func (e *editor) take(from, to int) {
	if from < to {
		e.cut = slices.Clone(e.text[from:to])
		e.drop(from, to)
	}
}

func (e *editor) lineBegin() int {
	i := e.at
	for i > 0 && e.text[i-1] != '\n' {
		i--
	}
	return i
}

func (e *editor) lineEnd() int {
	i := e.at
	for i < len(e.text) && e.text[i] != '\n' {
		i++
	}
	return i
}

func (e *editor) wordLeft() int {
	i := e.at
	for i > 0 && unicode.IsSpace(e.text[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(e.text[i-1]) {
		i--
	}
	return i
}

func (e *editor) wordRight() int {
	i := e.at
	for i < len(e.text) && unicode.IsSpace(e.text[i]) {
		i++
	}
	for i < len(e.text) && !unicode.IsSpace(e.text[i]) {
		i++
	}
	return i
}

// vertical goes a line up or down in the text, and beyond its first and last line in what was sent before.
func (e *editor) vertical(by int) {
	begin, end := e.lineBegin(), e.lineEnd()
	column := e.at - begin
	switch {
	case by < 0 && begin > 0:
		e.at = begin - 1
		e.at = min(e.at, e.lineBegin()+column)
	case by > 0 && end < len(e.text):
		e.at = end + 1
		e.at = min(e.at+column, e.lineEnd())
	case by < 0 && e.back < len(e.history):
		e.recall(e.back + 1)
	case by > 0 && e.back > 0:
		e.recall(e.back - 1)
	}
}

// recall shows what was sent so far back.
func (e *editor) recall(back int) {
	if e.back == 0 {
		e.own = slices.Clone(e.text)
	}
	if e.back = back; back == 0 {
		e.set(string(e.own))
		return
	}
	e.set(e.history[len(e.history)-back])
}

// blockMark stands in a line of its own before and after a text of several lines.
const blockMark = `"""`

// entered is what a typed text comes to when its line is ended: the message it is, or else the text to go on with. A
// line that ends in \ goes on in the next, and a block between marks is taken as it is.
func entered(typed string) (text string, ends bool) {
	first, rest, several := strings.Cut(typed, "\n")
	if strings.TrimSpace(first) == blockMark {
		block, last := "", rest
		if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
			block, last = rest[:i+1], rest[i+1:]
		}
		if several && strings.TrimSpace(last) == blockMark {
			return block, true
		}
		return typed + "\n", false
	}
	if begun, goesOn := strings.CutSuffix(typed, `\`); goesOn {
		return begun + "\n", false
	}
	return typed, true
}
