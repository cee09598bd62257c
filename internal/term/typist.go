package term

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
)

// Typist reads what a person types, line by line and only when asked: what is typed while nobody asks is not taken
// for an answer.
type Typist struct {
	in        io.Reader
	interrupt <-chan os.Signal // may be nil

	want    chan struct{}
	lines   chan typedLine
	waiting bool // a line was asked for and has not come
}

type typedLine struct {
	text string
	err  error
}

// ErrInterrupted says that Ctrl-C came in the place of a line.
var ErrInterrupted = errors.New("interrupted")

func NewTypist(in io.Reader, interrupt <-chan os.Signal) *Typist {
	t := &Typist{in: in, interrupt: interrupt, want: make(chan struct{}), lines: make(chan typedLine)}
	// A read of a terminal cannot be called off: this goroutine ends with its input or with the process.
	go func() {
		r := bufio.NewReader(in)
		for range t.want {
			text, err := r.ReadString('\n')
			if err != nil && text != "" {
				err = nil // the last line needs no end
			}
			t.lines <- typedLine{strings.TrimRight(text, "\r\n"), err}
		}
	}()
	return t
}

// Line is the next line: io.EOF at the end of the input, errInterrupted after Ctrl-C.
func (t *Typist) Line(ctx context.Context) (string, error) {
	if !t.waiting {
		t.want <- struct{}{}
		t.waiting = true
	}
	select {
	case l := <-t.lines:
		t.waiting = false
		return l.text, l.err
	case <-t.interrupt:
		return "", ErrInterrupted
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Forget forgets what was typed at a terminal before it was asked for.
func (t *Typist) Forget() {
	if IsTerminal(t.in) {
		discardTyped(t.in)
	}
}

// Seen reports whether people see what they type.
func (t *Typist) Seen() bool { return IsTerminal(t.in) }

// blockMark stands in a line of its own before and after a text of several lines.
const blockMark = `"""`

// Message is a text of one or more lines: one that ends in \ goes on in the next, and a block between marks is
// taken as it is.
func (t *Typist) Message(ctx context.Context, more func()) (string, error) {
	var text strings.Builder
	block := false
	for {
		line, err := t.Line(ctx)
		if err != nil {
			return "", err
		}
		rest, goesOn := strings.CutSuffix(line, `\`)
		switch mark := strings.TrimSpace(line) == blockMark; {
		case mark && block:
			return text.String(), nil
		case mark && text.Len() == 0:
			block = true
			more()
			continue
		case block:
			rest, goesOn = line, true
		}
		text.WriteString(rest)
		if !goesOn {
			return text.String(), nil
		}
		text.WriteByte('\n')
		more()
	}
}
