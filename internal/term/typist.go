package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

// MaxLine is how many bytes a line of the input, or a text that is pasted, has at most.
const MaxLine = 16 << 20

// ErrInterrupted says that Ctrl-C came in the place of an answer (it wraps context.Canceled), ErrWithdrawn that the
// question is out of date, and ErrLong that a line is longer than MaxLine.
var (
	ErrInterrupted = fmt.Errorf("interrupted: %w", context.Canceled)
	ErrWithdrawn   = errors.New("the question was withdrawn")
	ErrLong        = fmt.Errorf("a line of the input has more than %d bytes", MaxLine)
)

// Prompt is what a person is asked for.
type Prompt struct {
	Text, More string   // what stands before the first line, and before those after it
	Message    bool     // a text of any number of lines; else a word or a line
	History    []string // what was sent before, oldest first

	// Stirred tells that something may have happened meanwhile; then Stale reports whether the question is out of date.
	Stirred <-chan struct{}
	Stale   func() bool
}

// Typist asks a person at a terminal, who edits what they type, or whoever writes the input line by line. What is
// typed while nobody asks is kept for the next message, and is no answer to a question that comes after it.
type Typist struct {
	*source
	out       *Screen
	interrupt chan os.Signal // may be nil

	edits   bool // at a terminal that can show a text under edit
	keys    keyReader
	ended   error  // how the input ended
	draft   editor // of the next message
	signals chan os.Signal
	restore func()
}

// NewTypist is a typist who answers what is asked on a screen. While nobody asks, Ctrl-C at a terminal goes to
// interrupt, if that is not nil. Whoever made it closes it.
func NewTypist(in io.Reader, out *Screen, interrupt chan os.Signal) *Typist {
	t := &Typist{source: sourceOf(in), out: out, interrupt: interrupt, keys: keyReader{most: MaxLine}}
	if IsTerminal(in) && out.moves && t.rawMode() {
		t.edits = true
		t.readKeys()
		return t
	}
	t.readLines()
	return t
}

// ReadLine is the next line without its end, and ErrLong for one that has more than MaxLine bytes, which is read to
// its end.
func ReadLine(r *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, more := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(more, bufio.ErrBufferFull):
		case long && (more == nil || errors.Is(more, io.EOF)):
			return nil, ErrLong
		default:
			return []byte(strings.TrimRight(string(line), "\r\n")), more
		}
	}
}

// rawMode has the terminal give keys, and not lines.
func (t *Typist) rawMode() bool {
	restore, err := keyMode(t.in.(interface{ Fd() uintptr }).Fd())
	if err != nil {
		return false
	}
	t.restore, t.signals = restore, make(chan os.Signal, 1)
	t.idle(t.interrupt)
	signal.Notify(t.signals, resized, continued)
	t.out.control("\x1b[?2004h") // a paste comes as one
	return true
}

// Close gives the terminal back as it was.
func (t *Typist) Close() {
	if t.restore != nil {
		signal.Stop(t.signals)
		t.out.leave(false)
		t.out.control("\x1b[?2004l")
		t.idle(nil)
		t.restore()
		t.restore = nil
	}
}

// Seen reports whether people see what they type.
func (t *Typist) Seen() bool { return IsTerminal(t.in) }

// Unsent is what was typed of a message that was not sent.
func (t *Typist) Unsent() string { return strings.TrimSpace(t.draft.String()) }

// Ask asks for a line or a message. The end of the input is io.EOF.
func (t *Typist) Ask(ctx context.Context, p Prompt) (string, error) {
	if t.edits {
		return t.askKeys(ctx, p)
	}
	return t.askLines(ctx, p)
}

// askLines is Ask of an input that comes in lines.
func (t *Typist) askLines(ctx context.Context, p Prompt) (string, error) {
	if !p.Message && !t.waiting && t.Seen() && IsTerminal(t.out) {
		discardTyped(t.in)
	}
	prompt := p.Text
	begun := ""
	for {
		if !p.Message || t.Seen() {
			t.out.prompt(prompt)
		}
		line, err := t.line(ctx, &p)
		if err != nil {
			if errors.Is(err, ErrWithdrawn) && t.Seen() {
				t.out.prompt("\n")
			}
			return "", err
		}
		if !p.Message {
			return line, nil
		}
		text, ends := entered(begun + line)
		if ends {
			return text, nil
		}
		begun, prompt = text, p.More
	}
}

// line is the next line of the input.
func (t *Typist) line(ctx context.Context, p *Prompt) (string, error) {
	if !t.waiting {
		t.want <- struct{}{}
		t.waiting = true
	}
	for {
		select {
		case l := <-t.lines:
			t.waiting = false
			return string(l.text), l.err
		case <-p.Stirred:
			if p.Stale() {
				return "", ErrWithdrawn
			}
		case <-t.interrupt:
			return "", ErrInterrupted
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
