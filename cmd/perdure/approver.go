package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// typist reads what a person types, line by line and only when asked: what is typed while nobody asks is not taken
// for an answer.
type typist struct {
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

// errInterrupted says that Ctrl-C came in the place of a line.
var errInterrupted = errors.New("interrupted")

func newTypist(in io.Reader, interrupt <-chan os.Signal) *typist {
	t := &typist{in: in, interrupt: interrupt, want: make(chan struct{}), lines: make(chan typedLine)}
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

// line is the next line: io.EOF at the end of the input, errInterrupted after Ctrl-C.
func (t *typist) line(ctx context.Context) (string, error) {
	if !t.waiting {
		t.want <- struct{}{}
		t.waiting = true
	}
	select {
	case l := <-t.lines:
		t.waiting = false
		return l.text, l.err
	case <-t.interrupt:
		return "", errInterrupted
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// blockMark stands in a line of its own before and after a text of several lines.
const blockMark = `"""`

// message is a text of one or more lines: one that ends in \ goes on in the next, and a block between marks is
// taken as it is.
func (t *typist) message(ctx context.Context, more func()) (string, error) {
	var text strings.Builder
	block := false
	for {
		line, err := t.line(ctx)
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

// vote is a person's answer to what policy asks about.
type vote struct {
	yes   bool
	note  string
	leave bool // they left it open
}

// ask shows a person an action that policy asks about, whole, and asks what they say to it.
func (t *typist) ask(ctx context.Context, out io.Writer, w *view.Wait) (vote, error) {
	if err := writeSheet(out, w, time.Now()); err != nil {
		return vote{}, err
	}
	if isTerminal(t.in) {
		discardTyped(t.in)
	}
	for {
		if _, err := io.WriteString(out, "approve this? y, n, or n and why: "); err != nil {
			return vote{}, err
		}
		line, err := t.line(ctx)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, errInterrupted) || strings.TrimSpace(line) == quitWord:
			_, err := fmt.Fprintln(out)
			return vote{leave: true}, err
		case err != nil:
			return vote{}, err
		case !isTerminal(t.in): // nobody saw it typed
			if _, err := fmt.Fprintln(out, view.InLine(line)); err != nil {
				return vote{}, err
			}
		}
		if v, ok := parseVote(line); ok {
			return v, nil
		}
		const help = "y approves this one action; n denies it; what comes after, or a question, is told to the agent"
		if _, err := fmt.Fprintln(out, help); err != nil {
			return vote{}, err
		}
	}
}

// quitWord leaves a conversation.
const quitWord = "/quit"

// parseVote reads y or n, with a note or none; a question denies with the question as the note.
func parseVote(line string) (vote, bool) {
	line = strings.TrimSpace(line)
	word, note, _ := strings.Cut(line, " ")
	note = strings.TrimSpace(note)
	switch strings.ToLower(strings.TrimRight(word, ",.:;")) {
	case "y", "yes":
		return vote{yes: true, note: note}, true
	case "n", "no":
		return vote{note: note}, true
	}
	if strings.HasSuffix(line, "?") {
		return vote{note: line}, true
	}
	return vote{}, false
}

// approvable are the approvals that this node's key may give, of what waits.
func approvable(n *perdure.Node, a *perdure.Agent, waits []view.Wait) (found []*view.Wait) {
	for i := range waits {
		if w := &waits[i]; w.Kind == view.WaitApproval {
			if _, err := n.Votable(a, w.Digest, true); err == nil {
				found = append(found, w)
			}
		}
	}
	return found
}

// askAll asks a person about everything of an agent that policy asks about, and tells the agent. It reports
// whether anything was answered.
func (t *typist) askAll(ctx context.Context, out io.Writer, n *perdure.Node, a *perdure.Agent) (
	answered bool, err error,
) {
	waits, err := view.Waits(ctx, n.Store, a, n.Trust, n.Key.Key(), time.Now())
	if err != nil {
		return false, err
	}
	for _, w := range approvable(n, a, waits) {
		typed(w)
		v, err := t.ask(ctx, out, w)
		if err != nil || v.leave {
			return answered, err
		}
		if v.yes {
			_, err = n.Approve(ctx, a.ID(), w.Digest, 0, v.note)
		} else {
			_, err = n.Deny(ctx, a.ID(), w.Digest, v.note)
		}
		if err != nil {
			return answered, err
		}
		answered = true
	}
	return answered, nil
}
