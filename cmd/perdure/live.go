package main

import (
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/view"
)

// screen is standard error where a model speaks and lines come in between: a line begins where one begins, whoever wrote last.
type screen struct {
	w  io.Writer
	mu sync.Mutex

	speaking bool // what was written last is a model's, and no whole line
	column   int  // where that line ends
}

// saidMark stands before every line of what a model says, so that it cannot pass for a line of the program's own: a
// question, an entry, an error.
const saidMark = "| "

// Write writes whole lines.
func (s *screen) Write(p []byte) (int, error) {
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

// say writes what a model says, as it says it; nothing ends the line. Every line has the mark, also those that the
// terminal's width makes.
func (s *screen) say(_ perdure.AgentID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" && s.speaking {
		text = "\n"
	}
	var b strings.Builder
	width := widthOf(s.w)
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
		if s.speaking && width > len(saidMark) && s.column+columns(seen) > width {
			b.WriteByte('\n')
			s.speaking = false
		}
		if !s.speaking {
			b.WriteString(saidMark)
			s.speaking, s.column = true, len(saidMark)
		}
		b.WriteString(seen)
		s.column += columns(seen)
		if r == '\n' { // an empty line
			b.WriteByte('\n')
			s.speaking = false
		}
	}
	_, _ = io.WriteString(s.w, b.String()) // the run does not depend on it
}

// Fd is that of what it writes to, so that a terminal is known as one.
func (s *screen) Fd() uintptr { return fdOf(s.w) }

// styled reports whether own sequences pass, which the door behind it decides.
func (s *screen) styled() bool { return passesOwn(s.w) }

// liveFlag adds --live to a command that works on one agent. What it returns shows on standard error what models say from
// now on, if they are to be heard.
func liveFlag(c *cobra.Command) func(p *home.Powers, quiet bool) {
	live := c.Flags().Bool("live", false, "stream what a language model says (default: if standard error is a terminal)")
	return func(p *home.Powers, quiet bool) {
		heard := !quiet && isTerminal(c.ErrOrStderr())
		if c.Flags().Changed("live") {
			heard = *live
		}
		if heard {
			s := &screen{w: c.ErrOrStderr()}
			c.SetErr(s)
			p.Say = s.say
		}
	}
}
