package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// quitWords leave a conversation, and helpWords ask what there is.
var quitWords, helpWords = []string{"/quit", "/exit", "/q"}, []string{"/help", "/?"}

// slashWord is one line that looks like a command; the path of a file has more slashes.
var slashWord = regexp.MustCompile(`^/[a-z]+( [^\n]*)?$`)

// Asker asks a person about actions, each shown whole. It is to be closed.
type Asker struct {
	*term.Typist
	out   *term.Screen
	typed func(text string) string // a text in which commands are as they are typed here
	// until the question is out of date; see term.Prompt
	stirred <-chan struct{}
	stale   func() bool
	shown   *perdure.Hash // the decision that was shown last, which is not shown again
}

// NewAsker asks whoever reads out and writes in. Typed is a text in which commands are as that person types them.
func NewAsker(in io.Reader, out io.Writer, typed func(string) string) *Asker {
	screen := term.ScreenOf(out)
	return &Asker{Typist: term.NewTypist(in, screen, nil), out: screen, typed: typed, shown: new(perdure.Hash)}
}

// Line asks for a line. Whoever says nothing does not agree: then it is empty.
func (a *Asker) Line(ctx context.Context, prompt string) (string, error) {
	line, err := a.Ask(ctx, term.Prompt{Text: prompt})
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	return strings.TrimSpace(line), err
}

// approval asks a person about an action that policy asks about. What is no vote and a question is for the agent: then
// the input says it. Leave says that they left it open.
func (a *Asker) approval(ctx context.Context, w *view.Wait) (in home.Input, leave bool, err error) {
	const help = "y or yes alone approves this one action, n denies it, and what comes after n (or after no and a " +
		"comma) is told to the agent; a question is told to it, too, and decides nothing; Ctrl-D leaves it open"
	leave, err = a.about(ctx, w, "approve this? y, n, or n and why: ", help, func(line string) bool {
		ok := false
		if in, ok = home.ParseVote(line, w.Digest); !ok && len(line) > 1 && strings.HasSuffix(line, "?") {
			in, ok = home.Input{Say: line}, true
			a.note("this decides nothing: it is told to the agent, which reads it once you have said y or n")
		}
		return ok
	})
	return in, leave, err
}

// doubt asks a person whether an effect happened of which nobody can tell. Open says that they leave it so, leave that
// they go.
func (a *Asker) doubt(ctx context.Context, w *view.Wait) (in home.Input, open, leave bool, err error) {
	const help = "type happened (or h), not (or n) if it did not, or leave (or l, or an empty line), which leaves it " +
		"open. A colon or a comma, and a note for the agent, may follow: \"not: I asked the bank\". It is never done " +
		"again to find out"
	leave, err = a.about(ctx, w, "did it happen? happened, not (not: WHY), or leave: ", help, func(line string) bool {
		ok := false
		in, open, ok = home.ParseSettle(line, w.Decision)
		return ok
	})
	return in, open, leave, err
}

// about shows an action and asks about it until take takes an answer.
func (a *Asker) about(ctx context.Context, w *view.Wait, prompt, help string, take func(line string) bool) (leave bool,
	err error) {
	if *a.shown != w.Decision || w.Decision.IsZero() {
		if err := term.WriteBrief(a.out, w, time.Now()); err != nil {
			return false, err
		}
		*a.shown = w.Decision
	}
	prompt = w.Subject() + ": " + prompt
	for {
		line, err := a.Typist.Ask(ctx, term.Prompt{Text: prompt, Stirred: a.stirred, Stale: a.stale})
		if line = strings.TrimSpace(line); err == nil && !a.Seen() { // nobody saw it typed
			_, err = fmt.Fprintln(a.out, view.InLine(line))
		}
		switch {
		case errors.Is(err, io.EOF) && !a.Seen():
			_, err := fmt.Fprintln(a.out)
			return true, err
		case errors.Is(err, io.EOF) || slices.Contains(quitWords, line):
			return true, nil
		case err != nil:
			return false, err
		case line == "?":
			if err := term.WriteSheet(a.out, w, time.Now()); err != nil {
				return false, err
			}
		case take(line):
			return false, nil
		}
		a.note(help)
	}
}

func (a *Asker) note(text string) {
	_, _ = fmt.Fprintln(a.out, term.Hang(text, 0, term.WidthOf(a.out))) // whoever does not see it has gone
}

// Approvals asks a person about everything of an agent that policy asks about, and tells the agent. What is decided
// elsewhere meanwhile is asked no more. It reports whether anything was answered, here or there.
func (a *Asker) Approvals(ctx context.Context, n *perdure.Node, of *perdure.Agent) (answered bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changed := view.Watch(ctx, n.Store)
	a.stirred = changed.Signal
	waits, err := approvable(ctx, n, of)
	for _, w := range waits {
		a.stale = func() bool {
			changed.Take()
			now, err := perdure.Load(ctx, n.Store, of.ID())
			if err != nil {
				return true // the next turn says what it is
			}
			open, err := approvable(ctx, n, now)
			return err != nil || !slices.ContainsFunc(open, func(o *view.Wait) bool { return o.Decision == w.Decision })
		}
		w.Type(a.typed)
		for voted := false; !voted; answered = true {
			in, leave, err := a.approval(ctx, w)
			if errors.Is(err, term.ErrWithdrawn) {
				a.note("this was decided elsewhere meanwhile")
				voted = true
				continue
			}
			if err != nil || leave {
				return answered, err
			}
			if voted = in.Say == ""; voted {
				_, err = home.Vote(ctx, n, of.ID(), in)
			} else {
				_, err = n.Say(ctx, of.ID(), in.Say)
			}
			if err != nil {
				return answered, err
			}
		}
	}
	return answered, err
}

// approvable is what of an agent this node's person may approve.
func approvable(ctx context.Context, n *perdure.Node, of *perdure.Agent) ([]*view.Wait, error) {
	waits, err := view.Waits(ctx, n.Store, of, n.Trusted(), n.Key.Key(), time.Now())
	if err != nil {
		return nil, err
	}
	return home.Approvable(n, of, waits), nil
}
