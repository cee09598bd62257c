package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// style decorates text for a terminal. The zero style leaves it as it is.
type style struct {
	on    bool
	width int // of the terminal; zero: lines are not broken
}

// styleOf is the style of what is written to w: plain unless that is a terminal whose user did not say otherwise (no-color.org).
func styleOf(w io.Writer) style {
	return style{passesOwn(w) && isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", widthOf(w)}
}

// passesOwn reports whether w is a door, or leads to one: only a door knows the program's own sequences.
func passesOwn(w io.Writer) bool {
	d, ok := w.(interface{ styled() bool })
	return ok && d.styled()
}

func (s style) wrap(code, text string) string {
	if !s.on {
		return text
	}
	return own("\x1b["+code+"m") + text + own("\x1b[0m")
}

func (s style) bad(text string) string  { return s.wrap("1;31", text) }
func (s style) head(text string) string { return s.wrap("1", text) }

// isTerminal reports whether v is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

func (s style) dim(text string) string  { return s.wrap("2", text) }
func (s style) good(text string) string { return s.wrap("32", text) }
func (s style) warn(text string) string { return s.wrap("33", text) }

// state colours the name of a state or a standing.
func (s style) state(text string) string {
	switch text {
	case "terminated":
		return s.dim(text)
	case "waiting":
		return s.warn(text)
	case "running", "execution":
		return s.good(text)
	}
	return text
}
