package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// vote is a person's answer to what policy asks about.
type vote struct {
	yes   bool
	note  string
	leave bool // they left it open
}

// ask shows a person an action that policy asks about, whole, and asks what they say to it.
func ask(ctx context.Context, t *term.Typist, out io.Writer, w *view.Wait) (vote, error) {
	if err := term.WriteSheet(out, w, time.Now()); err != nil {
		return vote{}, err
	}
	t.Forget()
	for {
		if _, err := io.WriteString(out, "approve this? y, n, or n and why: "); err != nil {
			return vote{}, err
		}
		line, err := t.Line(ctx)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, term.ErrInterrupted) || strings.TrimSpace(line) == quitWord:
			_, err := fmt.Fprintln(out)
			return vote{leave: true}, err
		case err != nil:
			return vote{}, err
		case !t.Seen(): // nobody saw it typed
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

// askAll asks a person about everything of an agent that policy asks about, and tells the agent. It reports
// whether anything was answered.
func askAll(ctx context.Context, t *term.Typist, out io.Writer, n *perdure.Node, a *perdure.Agent) (
	answered bool, err error,
) {
	waits, err := view.Waits(ctx, n.Store, a, n.Trust, n.Key.Key(), time.Now())
	if err != nil {
		return false, err
	}
	for _, w := range home.Approvable(n, a, waits) {
		typed(w)
		v, err := ask(ctx, t, out, w)
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
