package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure"
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

func (f *peopleFace) delta(text string) { f.out.Say(perdure.AgentID{}, text) }

func (f *peopleFace) tell(format string, args ...any) {
	f.line(f.style.Warn("perdure:") + " " + view.OneLine(here(fmt.Sprintf(format, args...)), 0))
}

func (f *peopleFace) past(of []view.Spoken) {
	if f.t.made {
		f.line(f.style.Dim("a new agent, " + f.t.id.Short() + "; Ctrl-D leaves, and perdure chat comes back to it"))
	}
	for _, s := range of {
		f.print(s)
	}
}

func (f *peopleFace) show(s view.Spoken) {
	if f.typed && s.Entry == f.t.told || s.Type == view.SpokenAsked {
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
		if s.By != f.t.node.Key.Name {
			mark = view.ShownName(s.By) + "> "
		}
		for line := range strings.Lines(s.Text + "\n") {
			f.line(f.style.Head(view.InLine(mark + strings.TrimRight(line, "\n"))))
		}
	case view.SpokenAnswer, view.SpokenText:
		f.delta(strings.TrimRight(s.Text, "\n"))
		f.delta("")
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
		f.tell("no answer, %s: %s", s.Signal, s.Text)
	case view.SpokenEvent:
		aside("told: " + s.Text)
	case view.SpokenEnded: // said where the conversation ends
	}
}

// rest says why nothing goes on, where that is not plain to see.
func (f *peopleFace) rest(r *chatRest) error {
	for i := range r.Waits {
		switch w := &r.Waits[i]; w.Kind {
		case view.WaitQuestion, view.WaitApproval:
		default:
			if err := writeInbox(f.out, r.Waits[i:i+1], time.Now(), false); err != nil {
				return err
			}
		}
	}
	switch {
	case r.asks || len(r.Waits) > 0:
	case r.lacks:
		f.tell("it cannot go on here: %s; put that right and come back, nothing is lost", r.Why)
	case !r.idle:
		f.tell("it is in the middle of a turn; press Enter to go on, or say something")
	default:
		f.tell("%s; say something, or press Enter to try again", r.said)
	}
	return nil
}

// next asks a person what they say.
func (f *peopleFace) next(ctx context.Context, r *chatRest) (chatInput, error) {
	if f.in == nil {
		f.in = term.NewTypist(f.t.c.InOrStdin(), f.t.interrupt)
	}
	if asked := approvable(f.t.node, r.agent, r.Waits); len(asked) > 0 {
		v, err := ask(ctx, f.in, f.out, asked[0])
		return chatInput{digest: asked[0].Digest, yes: v.yes, note: v.note, leave: v.leave}, err
	}
	for i := range r.Waits {
		if w := &r.Waits[i]; w.Kind == view.WaitApproval {
			f.tell("policy asks others about %s; %s", w.What, w.Circumstances(time.Now()))
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
			return chatInput{leave: true}, nil
		case err != nil || text == quitWord:
			return chatInput{leave: true}, err
		case text == "" && r.asks:
			continue // there is nothing to go on with
		default:
			return chatInput{say: text}, nil
		}
	}
}
