package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/view"
)

// Screen is a terminal where a model speaks, lines come in between, and a person types below them: a line begins where
// one begins, whoever wrote last.
type Screen struct {
	w  io.Writer
	mu sync.Mutex

	speaking bool   // what was written last is a model's, and no whole line
	column   int    // where that line ends
	word     string // the word it ends with, as far as it was said
	moves    bool   // the terminal knows how to go back in a line

	under *shown // what is under edit
	on    drawn
}

// saidMark stands before every line of what a model says, so that it cannot pass for a line of the program's own: a
// question, an entry, an error.
const saidMark = "| "

// SaidText is a text that an agent leaves, as lines of it: none can pass for one of the program's own.
func SaidText(text string, width int) string { return Paragraphs(saidMark, text, width) }

func NewScreen(w io.Writer) *Screen { return &Screen{w: w, moves: Moves(w)} }

// ScreenOf is w, if that is a screen, or one on it.
func ScreenOf(w io.Writer) *Screen {
	if s, ok := w.(*Screen); ok {
		return s
	}
	return NewScreen(w)
}

// Moves reports whether w is a terminal on which the cursor can be moved.
func Moves(w io.Writer) bool {
	return passesOwn(w) && IsTerminal(w) && os.Getenv("TERM") != "dumb"
}

// Write writes whole lines.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.speaking {
		s.speaking = false
		if _, err := io.WriteString(s.w, "\n"); err != nil {
			return 0, err
		}
	}
	return s.above(p)
}

// above writes whole lines above what is under edit.
func (s *Screen) above(p []byte) (int, error) {
	if s.under == nil {
		return s.w.Write(p)
	}
	s.erase()
	n, err := s.w.Write(p)
	s.draw()
	return n, err
}

// Say writes what a model says, as it says it; nothing ends the line. Every line has the mark, also those that the
// terminal's width makes; these end between words.
func (s *Screen) Say(_ perdure.AgentID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" && s.speaking {
		text = "\n"
	}
	s.sayAll(text, s.under != nil) // above a text under edit there are only whole lines
}

// SayWhole writes what a model has said, as whole lines.
func (s *Screen) SayWhole(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.speaking {
		text = "\n" + text
	}
	s.sayAll(text, true)
}

func (s *Screen) sayAll(text string, whole bool) {
	var b strings.Builder
	width := WidthOf(s.w)
	for _, r := range text {
		s.say(&b, r, width)
	}
	if whole && s.speaking {
		b.WriteByte('\n')
		s.speaking = false
	}
	if b.Len() > 0 {
		_, _ = s.above([]byte(b.String())) // the run does not depend on it
	}
}

// say adds a character to what is said.
func (s *Screen) say(b *strings.Builder, r rune, width int) {
	seen := string(r)
	switch {
	case r == '\n':
		seen = ""
	case glyph.Hidden(r):
		seen = view.Escaped(r)
	}
	wide := Columns(seen)
	if s.speaking && r != '\n' && width > minRoom && s.column+wide >= width { // the last column stays empty: see wrap
		if s.wrap(b, r); r == ' ' {
			return
		}
	}
	if !s.speaking {
		s.begin(b)
	}
	if r == '\n' {
		b.WriteByte('\n')
		s.speaking = false
		return
	}
	b.WriteString(seen)
	s.column += wide
	if s.word += seen; r == ' ' {
		s.word = ""
	}
}

func (s *Screen) begin(b *strings.Builder) {
	b.WriteString(saidMark)
	s.speaking, s.column, s.word = true, len(saidMark), ""
}

// wrap ends a full line before a character. A word that it would part is taken back and along to the next line, which
// is safe where the last column is empty: terminals differ in where the cursor is behind it.
func (s *Screen) wrap(b *strings.Builder, r rune) {
	word, wide := s.word, Columns(s.word)
	takes := s.moves && r != ' ' && word != "" && wide < s.column-len(saidMark)
	if takes {
		b.WriteString(own(fmt.Sprintf("\x1b[%dD\x1b[K", wide)))
	}
	b.WriteByte('\n')
	if s.speaking = false; r == ' ' {
		return
	}
	if s.begin(b); takes {
		b.WriteString(word)
		s.column, s.word = s.column+wide, word
	}
}

// Fd is that of what it writes to, so that a terminal is known as one.
func (s *Screen) Fd() uintptr { return fdOf(s.w) }

// styled reports whether own sequences pass, which the door behind it decides.
func (s *Screen) styled() bool { return passesOwn(s.w) }
