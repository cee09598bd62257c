package main

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// teller is a command that tells an agent something.
type teller struct {
	c     *cobra.Command
	h     *homeFlag
	out   *output
	note  *string
	shown bool // what is answered was shown whole before a person said yes
}

// newTeller adds what such commands share. Their first argument is the agent. With a usage they have --note.
func newTeller(c *cobra.Command, usage string) *teller {
	t := &teller{c: remotely(c), h: storeFlag(c).acting(), out: outputFlags(c)}
	if usage != "" {
		t.note = c.Flags().String("note", "", usage)
	}
	return t
}

// tell tells an agent something, and says how it stands then.
func (t *teller) tell(arg string, what home.Message) error {
	agents, err := agentsOf(t.h)
	if err != nil {
		return err
	}
	r, err := agents.Tell(t.c.Context(), arg, what)
	if r == nil {
		return err
	}
	if r.About != nil {
		typed(r.About)
	}
	if file, _ := inFile(); file != "" && r.SendBack {
		note(t.c, "your answer is in the file, and counts where the agent runs: send %s back, to be imported there",
			view.InLine(file))
	}
	return errors.Join(err, t.out.print(r, func(w io.Writer) error {
		if r.About != nil && !t.shown {
			if err := term.WriteSheet(w, r.About, time.Now()); err != nil {
				return err
			}
		}
		return term.Say(w, r.Text()+"\n")
	}))
}

func sendCommand() *cobra.Command {
	c := command("send", cobra.RangeArgs(2, 3))
	t := newTeller(c, "")
	c.ValidArgsFunction = agentThen(t.h, home.CompleteAwaited)
	var x home.Send
	f := c.Flags()
	f.StringVar(&x.ID, "id", "", "the sender's own id of this event")
	f.StringVar(&x.Trace, "trace", "",
		"the W3C traceparent of this event; what the agent does because of it carries its trace id")
	data := f.String("data", "", "the data: JSON, - for standard input, or @FILE")
	f.StringVar(&x.Subject, "subject", "",
		"seal the data for this person, so that perdure erase can make it unreadable everywhere")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if len(args) == 3 && c.Flags().Changed("data") {
			return perdure.Invalid(errors.New("data is given twice; use the third argument or --data"))
		}
		x.Name = args[1]
		if x.Data, err = dataArg(c, append(args, *data)[2]); err != nil {
			return err
		}
		if x.Subject != "" && x.Data == nil {
			return perdure.Invalid(errors.New("--subject seals data for a person; name them, and give data"))
		}
		return t.tell(args[0], x)
	}
	return c
}

// dataArg reads data from an argument: JSON, - for standard input, @FILE, or nothing.
func dataArg(c *cobra.Command, arg string) (perdure.Data, error) {
	var text []byte
	var err error
	switch name, isFile := strings.CutPrefix(arg, "@"); {
	case arg == "":
		return nil, nil
	case arg == "-":
		text, err = readWhole(c, "-", perdure.Limits{Bytes: perdure.MaxBody})
	case isFile:
		text, err = disk.ReadFile(name, perdure.MaxBody)
	default:
		text = []byte(arg)
	}
	if err != nil {
		return nil, err
	}
	d, err := perdure.DataFromJSON(text)
	if err != nil {
		return nil, perdure.Invalid(home.NotJSON("data", err))
	}
	return d, nil
}

func pauseCommand() *cobra.Command {
	return notedCommand("pause", func(note string) home.Message { return home.Pause{Note: note} })
}

func endCommand() *cobra.Command {
	return notedCommand("end", func(note string) home.Message { return home.End{Note: note} })
}

// notedCommand is the command of a verb that takes a note and nothing else.
func notedCommand(words string, what func(note string) home.Message) *cobra.Command {
	c := command(words, cobra.ExactArgs(1))
	t := newTeller(c, "why")
	c.RunE = func(_ *cobra.Command, args []string) error { return t.tell(args[0], what(*t.note)) }
	return c
}

func resumeCommand() *cobra.Command {
	c := command("resume", cobra.ExactArgs(1))
	t := newTeller(c, "why")
	older := c.Flags().Bool("older", false, "continue from this copy although a newer one was seen here; what was "+
		"done since may be done again (owner only)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return t.tell(args[0], home.Resume{Note: *t.note, Older: *older})
	}
	return c
}

func grantCommand() *cobra.Command {
	c := command("grant", cobra.ExactArgs(1))
	t := newTeller(c, "why")
	var x home.Grant
	c.Flags().StringVar(&x.Cost, "cost", "", "US dollars, such as 1.50")
	c.Flags().Int64Var(&x.Tokens, "tokens", 0, "model tokens")
	c.Flags().Int64Var(&x.Calls, "calls", 0, "tool calls")
	c.RunE = func(_ *cobra.Command, args []string) error {
		x.Note = *t.note
		return t.tell(args[0], x)
	}
	return c
}

func settleCommand() *cobra.Command {
	c := command("settle", cobra.RangeArgs(1, 2))
	t := newTeller(c, "how you found out")
	c.ValidArgsFunction = agentThen(t.h, home.CompleteOpen)
	signal := &choice{"", []string{perdure.OK.String(), perdure.Failed.String()}}
	choiceFlag(c, signal, "signal", "ok if it happened, failed if it did not and will not")
	result := c.Flags().String("result", "", "what it returned: JSON, - for standard input, or @FILE")
	var x home.Settle
	c.Flags().BoolVar(&x.Running, "still-running", false, "settle although processes are still at work on the effect")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if signal.value == "" {
			return perdure.Invalid(errors.New("say whether it happened: --signal ok, or --signal failed"))
		}
		if x.Result, err = dataArg(c, *result); err != nil {
			return err
		}
		if x.Signal, err = view.ParseName[perdure.Signal]("--signal", signal.value); err != nil {
			return perdure.Invalid(err)
		}
		x.Of, x.Note = append(args, "")[1], *t.note
		return t.tell(args[0], x)
	}
	return c
}
