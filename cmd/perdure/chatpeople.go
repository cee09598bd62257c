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

// peopleFace is a conversation for people.
type peopleFace struct {
	t     *chat
	out   *term.Screen
	in    *term.Typist
	style term.Style
	typed bool                  // what they say is seen as they type it
	left  map[perdure.Hash]bool // effects in doubt that they leave so
	shown perdure.Hash          // the decision they were asked about last
}

func newPeopleFace(t *chat) *peopleFace {
	out := term.NewScreen(t.c.OutOrStdout())
	if term.IsTerminal(t.c.ErrOrStderr()) && term.IsTerminal(out) {
		t.c.SetErr(out) // a line begins where one begins, whoever wrote last
	}
	return &peopleFace{t: t, out: out, style: term.StyleOf(out), typed: term.IsTerminal(t.c.InOrStdin()),
		left: map[perdure.Hash]bool{}}
}

// begin has them type from now on, and close ends that. What they typed and did not send is said.
func (f *peopleFace) begin() { f.in = term.NewTypist(f.t.c.InOrStdin(), f.out, f.t.interrupt) }

func (f *peopleFace) close() {
	if f.in == nil {
		return
	}
	f.in.Close()
	if unsent := f.in.Unsent(); unsent != "" {
		f.line(f.style.Warn("not sent:") + "\n" + term.Paragraphs("  ", unsent, term.WidthOf(f.out)))
	}
}

func (f *peopleFace) line(text string) { _, _ = fmt.Fprintln(f.out, text) } // whoever does not see it has gone

// hang is a line of text that goes on under its own beginning where the terminal ends.
func (f *peopleFace) hang(text string) string { return term.Hang(text, 2, term.WidthOf(f.out)) }

// Delta implements home.Listener.
func (f *peopleFace) Delta(text string) { f.out.Say(perdure.AgentID{}, text) }

// Tell implements home.Listener.
func (f *peopleFace) Tell(text string) {
	text = f.hang("perdure: " + view.OneLine(here(text), 0))
	f.line(f.style.Warn("perdure:") + strings.TrimPrefix(text, "perdure:"))
}

func (f *peopleFace) past(of []view.Spoken) {
	if text := f.t.which(); text != "" {
		f.line(f.style.Dim(f.hang(here(text))))
	}
	for _, s := range of {
		f.print(s)
	}
}

// Show implements home.Listener.
func (f *peopleFace) Show(s view.Spoken) {
	if f.typed && s.Entry == f.t.Told || s.Type == view.SpokenAsked {
		return // they have just typed it, or are asked next, with the action whole
	}
	f.print(s)
}

// print prints a piece of the conversation.
func (f *peopleFace) print(s view.Spoken) {
	aside := func(text string) { f.line(f.style.Dim(f.hang("- " + view.OneLine(text, view.LineWidth)))) }
	switch s.Type {
	case view.SpokenPerson:
		mark := "> "
		if s.By != f.t.Node.Key.Name {
			mark = view.ShownName(s.By) + "> "
		}
		for line := range strings.Lines(s.Text + "\n") {
			f.line(f.style.Head(f.hang(view.InLine(mark + strings.TrimRight(line, "\n")))))
		}
	case view.SpokenAnswer, view.SpokenText:
		f.out.SayWhole(strings.TrimRight(s.Text, "\n"))
	case view.SpokenCall:
		aside(strings.TrimSpace("calls " + s.Tool + " " + view.DataText(s.Args) + s.Text))
	case view.SpokenResult:
		aside(strings.TrimSpace(s.Tool + " " + s.Signal.String() + " " + s.Text + " " + view.DataText(s.Result)))
	case view.SpokenDenied:
		aside("policy denied " + s.Text)
	case view.SpokenAsked:
		aside("policy asks about " + s.Text)
	case view.SpokenError:
		if s.Signal == perdure.Incapable {
			return // where it rests it is said what to put right
		}
		f.Tell(fmt.Sprintf("no answer, %s: %s", s.Signal, s.Text))
	case view.SpokenEvent:
		aside("told: " + s.Text)
	case view.SpokenEnded: // said where the conversation ends
	}
}

// rest says why nothing goes on, where that is not plain to see.
func (f *peopleFace) rest(r *home.Rest) error {
	for i := range r.Waits {
		switch w := &r.Waits[i]; w.Kind {
		case view.WaitQuestion, view.WaitTalk, view.WaitApproval, view.WaitDoubt:
		default:
			if err := term.WriteWaits(f.out, r.Waits[i:i+1], time.Now(), false); err != nil {
				return err
			}
		}
	}
	switch {
	case r.Elsewhere:
		f.Tell("another process is at work on it: what it does is shown here")
	case r.Goes || r.Asks || len(r.Waits) > 0:
	case r.Lacks:
		f.Tell(fmt.Sprintf("it cannot go on here: %s; put that right and come back, nothing is lost", r.Why))
	case !r.Idle && f.t.Follow: // said already
	case !r.Idle:
		f.Tell("it is in the middle of a turn; press Enter to go on, or say something")
	case r.Until != 0:
		f.Tell(fmt.Sprintf("%s; it goes on by itself while you are here, and you can say something meanwhile", r.Said))
	default:
		f.Tell(fmt.Sprintf("%s; say something, or press Enter to try again", r.Said))
	}
	return nil
}

// next asks a person what they say.
func (f *peopleFace) next(ctx context.Context, r *home.Rest) (in home.Input, leave bool, err error) {
	news, bad := home.Same, error(nil)
	stale := func() bool {
		news, bad = f.t.Look(ctx, r)
		return news != home.Same || bad != nil
	}
	q := &asker{f.in, f.out, f.t.Stirred, stale, &f.shown}
	in, leave, err = f.ask(ctx, q, r)
	switch {
	case errors.Is(err, term.ErrInterrupted):
		return in, true, nil
	case !errors.Is(err, term.ErrWithdrawn):
		return in, leave, err
	case bad != nil:
		return in, false, bad
	case news == home.Due:
		return home.Input{Due: true}, false, nil
	}
	return in, false, errMoved
}

// ask asks what there is to ask: about an action, about an effect in doubt, or what they say.
func (f *peopleFace) ask(ctx context.Context, q *asker, r *home.Rest) (in home.Input, leave bool, err error) {
	if asked := home.Approvable(f.t.Node, r.Now, r.Waits); len(asked) > 0 {
		return q.approval(ctx, asked[0])
	}
	for _, w := range home.Doubts(r.Waits) {
		if f.left[w.Decision] {
			continue
		}
		in, open, leave, err := q.doubt(ctx, w)
		if f.left[w.Decision] = open; !open {
			return in, leave, err
		}
	}
	for i := range r.Waits {
		switch w := &r.Waits[i]; w.Kind {
		case view.WaitApproval:
			f.Tell(fmt.Sprintf("it waits for others: policy asks them about %s; %s", w.What,
				w.Circumstances(time.Now())))
		case view.WaitDoubt:
			f.Tell(fmt.Sprintf("it waits until it is known whether this happened: %s; %s", view.ActionText(w.Action),
				w.Answer))
		}
	}
	return f.message(ctx, q, r)
}

// message asks for what they say.
func (f *peopleFace) message(ctx context.Context, q *asker, r *home.Rest) (in home.Input, leave bool, err error) {
	for {
		text, err := f.in.Ask(ctx, term.Prompt{Text: "> ", More: "… ", Message: true, History: f.t.Words,
			Stirred: q.stirred, Stale: q.stale})
		switch text = strings.TrimSpace(text); {
		case errors.Is(err, io.EOF):
			return in, true, nil
		case errors.Is(err, term.ErrLong):
			f.Tell(err.Error() + ", and is left out")
		case err != nil || text == quitWord:
			return in, err == nil, err
		case text == "" && r.Asks:
			continue // there is nothing to go on with
		default:
			return home.Input{Say: text}, false, nil
		}
	}
}
