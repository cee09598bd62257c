package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// chatHelp is what there is besides saying something.
const chatHelp = "what you type is said to the agent. Alt-Enter, or \\ at its end, goes on in another line; an empty " +
	"line goes on with what was interrupted or failed; Ctrl-C clears the line, or interrupts the turn and not the " +
	"agent, and leaves on an empty line; Ctrl-D or /quit leaves, and perdure chat comes back to it. perdure chat " +
	"--help says the rest"

// People is a conversation for people at a terminal.
type People struct {
	Which string // which agent it is that they talk to, if they did not name one

	talk      *home.Conversation
	out       *term.Screen
	input     io.Reader
	interrupt chan os.Signal
	typed     func(text string) string
	in        *term.Typist // from Begin on
	style     term.Style
	seen      bool                  // what they say is seen as they type it
	left      map[perdure.Hash]bool // effects in doubt that they leave so
	shown     perdure.Hash          // the decision they were asked about last
}

// NewPeople has people talk who write to in and read out. Ctrl-C in a turn goes to interrupt, and typed is a text in
// which commands are as they are typed here.
func NewPeople(t *home.Conversation, in io.Reader, out *term.Screen, interrupt chan os.Signal,
	typed func(string) string) *People {
	return &People{talk: t, out: out, input: in, interrupt: interrupt, typed: typed, style: term.StyleOf(out),
		seen: term.IsTerminal(in), left: map[perdure.Hash]bool{}}
}

// Begin implements home.Talker.
func (f *People) Begin() { f.in = term.NewTypist(f.input, f.out, f.interrupt) }

// Close implements home.Talker. What they typed and did not send is said.
func (f *People) Close() {
	f.in.Close()
	if unsent := f.in.Unsent(); unsent != "" {
		f.line(f.style.Warn("not sent:") + "\n" + term.Paragraphs("  ", unsent, term.WidthOf(f.out)))
	}
}

// Leave says that something stays open where they leave; nil: nothing does.
func (f *People) Leave(ran *home.Ran) {
	if ran != nil && ran.Person && ran.Ended == nil {
		f.Tell("it waits for an answer, which stays open: perdure chat comes back to it, and perdure inbox shows it")
	}
}

func (f *People) line(text string) { _, _ = fmt.Fprintln(f.out, text) } // whoever does not see it has gone

// hang is a line of text that goes on under its own beginning where the terminal ends.
func (f *People) hang(text string) string { return term.Hang(text, 2, term.WidthOf(f.out)) }

// Delta implements home.Listener.
func (f *People) Delta(text string) { f.out.Say(perdure.AgentID{}, text) }

// Tell implements home.Listener.
func (f *People) Tell(text string) {
	text = f.hang("perdure: " + view.OneLine(f.typed(text), 0))
	f.line(f.style.Warn("perdure:") + strings.TrimPrefix(text, "perdure:"))
}

// Past implements home.Talker.
func (f *People) Past(said []view.Spoken) {
	if f.Which != "" {
		f.line(f.style.Dim(f.hang(f.typed(f.Which))))
	}
	for _, s := range said {
		f.print(s)
	}
}

// Show implements home.Listener.
func (f *People) Show(s view.Spoken) {
	if f.seen && s.Entry == f.talk.Told || s.Type == view.SpokenAsked {
		return // they have just typed it, or are asked next, with the action whole
	}
	f.print(s)
}

// print prints a piece of the conversation.
func (f *People) print(s view.Spoken) {
	aside := func(text string) { f.line(f.style.Dim(f.hang("- " + view.OneLine(text, view.LineWidth)))) }
	switch s.Type {
	case view.SpokenPerson:
		mark := "> "
		if s.By != f.talk.Node.Key.Name {
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
		signal := strings.TrimSuffix(s.Signal.String()+": "+s.Text, ": ")
		aside(strings.TrimSpace(s.Tool + " " + signal + " " + view.DataText(s.Result)))
	case view.SpokenDenied:
		aside("policy denied " + s.Text)
	case view.SpokenAsked:
		aside("policy asks about " + s.Text)
	case view.SpokenError:
		if s.Signal == perdure.Incapable {
			return // where it rests it is said what to put right
		}
		f.Tell(strings.TrimSuffix(fmt.Sprintf("no answer, %s: %s", s.Signal, s.Text), ": "))
	case view.SpokenEvent:
		aside("told: " + s.Text)
	case view.SpokenEnded: // said where the conversation ends
	}
}

// Resting implements home.Talker: it says why nothing goes on, where that is not plain to see.
func (f *People) Resting(r *home.Rest) error {
	for i := range r.Waits {
		r.Waits[i].Type(f.typed)
	}
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
	case !r.Idle && f.talk.Follow: // said already
	case !r.Idle && r.Now.Fold().Turns == 0 && len(f.talk.Words) == 0: // a turn counts once it is answered
		f.Tell("it has not begun; press Enter to have it begin, or say something")
	case !r.Idle:
		f.Tell("it is in the middle of a turn; press Enter to go on, or say something")
	case r.Until != 0 && !f.seen: // who writes it has gone, or has the next thing to say ready
		f.Tell(r.Said)
	case r.Until != 0:
		f.Tell(fmt.Sprintf("%s; it goes on by itself while you are here, and you can say something meanwhile", r.Said))
	case r.Silent:
		f.Tell(r.Said + "; say something: then it is asked again")
	default:
		f.Tell(fmt.Sprintf("%s; say something, or press Enter to try again", r.Said))
	}
	return nil
}

// Next implements home.Talker: it asks a person what they say.
func (f *People) Next(ctx context.Context, r *home.Rest) (in home.Input, leave bool, err error) {
	news, bad := home.Same, error(nil)
	stale := func() bool {
		news, bad = f.talk.Look(ctx, r)
		return news != home.Same || bad != nil
	}
	q := &Asker{f.in, f.out, f.typed, f.talk.Stirred, stale, &f.shown}
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
	return in, false, home.ErrMoved
}

// ask asks what there is to ask: about an action, about an effect in doubt, or what they say.
func (f *People) ask(ctx context.Context, q *Asker, r *home.Rest) (in home.Input, leave bool, err error) {
	if asked := home.Approvable(f.talk.Node, r.Now, r.Waits); len(asked) > 0 {
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
func (f *People) message(ctx context.Context, q *Asker, r *home.Rest) (in home.Input, leave bool, err error) {
	for {
		text, err := f.in.Ask(ctx, term.Prompt{Text: "> ", More: "… ", Message: true, History: f.talk.Words,
			Stirred: q.stirred, Stale: q.stale})
		spaced := strings.HasPrefix(text, " ")
		switch text = strings.TrimSpace(text); {
		case errors.Is(err, io.EOF):
			return in, true, nil
		case errors.Is(err, term.ErrLong):
			f.Tell(err.Error() + ", and is left out")
		case err != nil || slices.Contains(quitWords, text):
			return in, err == nil, err
		case slices.Contains(helpWords, text):
			f.Tell(chatHelp)
		case err == nil && !spaced && slashWord.MatchString(text):
			word, _, _ := strings.Cut(text, " ")
			f.Tell("there is no command " + word + "; /help says what there is. To say it to the agent, begin with a " +
				"space")
		case text == "" && r.Asks:
			continue // there is nothing to go on with
		default:
			return home.Input{Say: text}, false, nil
		}
	}
}
