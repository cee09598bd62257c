package term

import (
	"errors"
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"github.com/perdure/perdure"
)

// Style decorates text for a terminal. The zero style leaves it as it is.
type Style struct {
	on    bool
	Width int // of the terminal; zero: lines are not broken
}

// StyleOf is the style of what is written to w: plain unless that is a terminal whose user did not say otherwise
// (no-color.org).
func StyleOf(w io.Writer) Style {
	return Style{passesOwn(w) && IsTerminal(w) && os.Getenv("NO_COLOR") == "" &&
		os.Getenv("TERM") != "dumb", WidthOf(w)}
}

// passesOwn reports whether w is a door, or leads to one: only a door knows the program's own sequences.
func passesOwn(w io.Writer) bool {
	d, ok := w.(interface{ styled() bool })
	return ok && d.styled()
}

func (s Style) wrap(code, text string) string {
	if !s.on {
		return text
	}
	return own("\x1b["+code+"m") + text + own("\x1b[0m")
}

func (s Style) Bad(text string) string { return s.wrap("1;31", text) }

func (s Style) Head(text string) string { return s.wrap("1", text) }

// IsTerminal reports whether v is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// Mute is why nobody can say anything in a file: it is empty, or the null device. Nil: somebody may.
func Mute(v any) error {
	f, ok := v.(*os.File)
	if !ok || IsTerminal(f) {
		return nil
	}
	is, err := f.Stat()
	if err != nil || is.Mode()&os.ModeCharDevice == 0 && (!is.Mode().IsRegular() || is.Size() > 0) {
		return nil
	}
	return perdure.WithHint(perdure.Invalid(errors.New("nobody says anything: standard input is empty")),
		"talk on a terminal, or give what is to be said on standard input")
}

func (s Style) Dim(text string) string { return s.wrap("2", text) }

func (s Style) Good(text string) string { return s.wrap("32", text) }

func (s Style) Warn(text string) string { return s.wrap("33", text) }

// State colours the name of a state or a standing.
func (s Style) State(text string) string {
	switch text {
	case "terminated":
		return s.Dim(text)
	case "waiting":
		return s.Warn(text)
	case "running", "execution":
		return s.Good(text)
	}
	return text
}
