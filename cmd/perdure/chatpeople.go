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
	typed bool // what they say is seen as they type it
}

func newPeopleFace(t *chat) *peopleFace {
	out := term.NewScreen(t.c.OutOrStdout())
	if term.IsTerminal(t.c.ErrOrStderr()) && term.IsTerminal(out) {
		t.c.SetErr(out) // a line begins where one begins, whoever wrote last
	}
	return &peopleFace{t: t, out: out, style: term.StyleOf(out), typed: term.IsTerminal(t.c.InOrStdin())}
}

func (f *peopleFace) line(text string) { _, _ = fmt.Fprintln(f.out, text) } // whoever does not see it has gone

// Delta implements home.Listener.
func (f *peopleFace) Delta(text string) { f.out.Say(perdure.AgentID{}, text) }

// Tell implements home.Listener.
func (f *peopleFace) Tell(text string) {
	f.line(f.style.Warn("perdure:") + " " + view.OneLine(here(text), 0))
}

func (f *peopleFace) past(of []view.Spoken) {
	if f.t.made {
		f.line(f.style.Dim("a new agent, " + f.t.Agent.Short() + "; Ctrl-D leaves, and perdure chat comes back to it"))
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
	aside := func(text string) { f.line(f.style.Dim("- " + view.OneLine(text, view.LineWidth))) }
	switch s.Type {
	case view.SpokenPerson:
		mark := "> "
		if s.By != f.t.Node.Key.Name {
			mark = view.ShownName(s.By) + "> "
		}
		for line := range strings.Lines(s.Text + "\n") {
			f.line(f.style.Head(view.InLine(mark + strings.TrimRight(line, "\n"))))
		}
	case view.SpokenAnswer, view.SpokenText:
		f.Delta(strings.TrimRight(s.Text, "\n"))
		f.Delta("")
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
		case view.WaitQuestion, view.WaitTalk, view.WaitApproval:
		default:
			if err := term.WriteWaits(f.out, r.Waits[i:i+1], time.Now(), false); err != nil {
				return err
			}
		}
	}
	switch {
	case r.Asks || len(r.Waits) > 0:
	case r.Lacks:
		f.Tell(fmt.Sprintf("it cannot go on here: %s; put that right and come back, nothing is lost", r.Why))
	case !r.Idle:
		f.Tell("it is in the middle of a turn; press Enter to go on, or say something")
	default:
		f.Tell(fmt.Sprintf("%s; say something, or press Enter to try again", r.Said))
	}
	return nil
}

// next asks a person what they say.
func (f *peopleFace) next(ctx context.Context, r *home.Rest) (in home.Input, leave bool, err error) {
	if f.in == nil {
		f.in = term.NewTypist(f.t.c.InOrStdin(), f.t.interrupt)
	}
	if asked := home.Approvable(f.t.Node, r.Now, r.Waits); len(asked) > 0 {
		return ask(ctx, f.in, f.out, asked[0])
	}
	for i := range r.Waits {
		if w := &r.Waits[i]; w.Kind == view.WaitApproval {
			f.Tell(fmt.Sprintf("policy asks others about %s; %s", w.What, w.Circumstances(time.Now())))
		}
	}
	prompt := func(text string) {
		if f.typed {
			_, _ = io.WriteString(f.out, f.style.Head(text)) // whoever does not see it has gone
		}
	}
	for {
		prompt("> ")
		text, err := f.in.Message(ctx, func() { prompt("… ") })
		switch text = strings.TrimSpace(text); {
		case errors.Is(err, io.EOF), errors.Is(err, term.ErrInterrupted):
			prompt("\n")
			return in, true, nil
		case err != nil || text == quitWord:
			return in, true, err
		case text == "" && r.Asks:
			continue // there is nothing to go on with
		default:
			return home.Input{Say: text}, false, nil
		}
	}
}
