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

// ask shows a person an action that policy asks about, whole, and asks what they say to it; leave says that they left
// it open.
func ask(ctx context.Context, t *term.Typist, out io.Writer, w *view.Wait) (in home.Input, leave bool, err error) {
	if err := term.WriteSheet(out, w, time.Now()); err != nil {
		return in, false, err
	}
	t.Forget()
	for {
		if _, err := io.WriteString(out, "approve this? y, n, or n and why: "); err != nil {
			return in, false, err
		}
		line, err := t.Line(ctx)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, term.ErrInterrupted) || strings.TrimSpace(line) == quitWord:
			_, err := fmt.Fprintln(out)
			return in, true, err
		case err != nil:
			return in, false, err
		case !t.Seen(): // nobody saw it typed
			if _, err := fmt.Fprintln(out, view.InLine(line)); err != nil {
				return in, false, err
			}
		}
		if in, ok := home.ParseVote(line, w.Digest); ok {
			return in, false, nil
		}
		const help = "y approves this one action; n denies it; what comes after, or a question, is told to the agent"
		if _, err := fmt.Fprintln(out, help); err != nil {
			return in, false, err
		}
	}
}

// quitWord leaves a conversation.
const quitWord = "/quit"

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
		in, leave, err := ask(ctx, t, out, w)
		if err != nil || leave {
			return answered, err
		}
		if _, err := home.Vote(ctx, n, a.ID(), in); err != nil {
			return answered, err
		}
		answered = true
	}
	return answered, nil
}
