package term

import (
	"io"
	"strings"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/view"
)

// Screen is standard error where a model speaks and lines come in between: a line begins where one begins, whoever
// wrote last.
type Screen struct {
	w  io.Writer
	mu sync.Mutex

	speaking bool // what was written last is a model's, and no whole line
	column   int  // where that line ends
}

// saidMark stands before every line of what a model says, so that it cannot pass for a line of the program's own: a
// question, an entry, an error.
const saidMark = "| "

func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

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
	return s.w.Write(p)
}

// Say writes what a model says, as it says it; nothing ends the line. Every line has the mark, also those that the
// terminal's width makes.
func (s *Screen) Say(_ perdure.AgentID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" && s.speaking {
		text = "\n"
	}
	var b strings.Builder
	width := WidthOf(s.w)
	for _, r := range text {
		if r == '\n' && s.speaking {
			b.WriteByte('\n')
			s.speaking = false
			continue
		}
		seen := string(r)
		if glyph.Hidden(r) {
			seen = view.Escaped(r)
		}
		if r == '\n' {
			seen = ""
		}
		if s.speaking && width > len(saidMark) && s.column+Columns(seen) > width {
			b.WriteByte('\n')
			s.speaking = false
		}
		if !s.speaking {
			b.WriteString(saidMark)
			s.speaking, s.column = true, len(saidMark)
		}
		b.WriteString(seen)
		s.column += Columns(seen)
		if r == '\n' { // an empty line
			b.WriteByte('\n')
			s.speaking = false
		}
	}
	_, _ = io.WriteString(s.w, b.String()) // the run does not depend on it
}

// Fd is that of what it writes to, so that a terminal is known as one.
func (s *Screen) Fd() uintptr { return fdOf(s.w) }

// styled reports whether own sequences pass, which the door behind it decides.
func (s *Screen) styled() bool { return passesOwn(s.w) }
