package main

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

// screen is standard error where a model speaks and lines come in between: a line begins where one begins, whoever wrote last.
type screen struct {
	w  io.Writer
	mu sync.Mutex

	speaking bool // what was written last is a model's, and no whole line
}

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

// say writes what a model says, as it says it; nothing ends the line. Control characters could rule the terminal and are left out.
func (s *screen) say(_ perdure.AgentID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := text == ""
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
	if ended && s.speaking {
		text = "\n"
	}
	if text == "" {
		return
	}
	_, _ = io.WriteString(s.w, text) // the run does not depend on it
	s.speaking = !strings.HasSuffix(text, "\n")
}

// Fd is that of what it writes to, so that a terminal is known as one.
func (s *screen) Fd() uintptr {
	if f, ok := s.w.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// liveFlag adds --live to a command that works on one agent.
func (p *powers) liveFlag(c *cobra.Command) {
	p.live = c.Flags().Bool("live", false, "show what a language model says while it says it (default: if standard error is a terminal)")
}

// listen shows on standard error what models say from now on, if they are to be heard.
func (p *powers) listen(c *cobra.Command, quiet bool) {
	heard := !quiet && isTerminal(c.ErrOrStderr())
	if c.Flags().Changed("live") {
		heard = *p.live
	}
	if heard {
		s := &screen{w: c.ErrOrStderr()}
		c.SetErr(s)
		p.say = s.say
	}
}
