package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

func sessionCommand() *cobra.Command {
	c := command("session", nil)
	c.AddCommand(sessionOpenCommand(), sessionCloseCommand(), sessionLsCommand(), sessionRecoverCommand())
	return c
}

func sessionOpenCommand() *cobra.Command {
	c := command("session open", cobra.NoArgs)
	m := newMemory(c).of(workspace.DefaultRole)
	c.RunE = func(*cobra.Command, []string) error {
		return m.use(true, workspace.DefaultRole, func(ctx context.Context, r *workspace.Reader) error {
			o, err := r.OpenFor(ctx, true) // this process ends, and the session does not
			if err != nil {
				return err
			}
			return m.out.say(o, "%s", o)
		})
	}
	return c
}

func sessionCloseCommand() *cobra.Command {
	c := command("session close", cobra.NoArgs)
	m := newMemory(c).of(workspace.DefaultRole)
	var x workspace.CloseArgs
	fl := c.Flags()
	fl.StringVar(&x.Session, "session", "", "the session, by its path (default: the last one open)")
	fl.StringVar(&x.Title, "title", "", "one line, by which the summary is found")
	fl.StringArrayVar(&x.Decisions, "decision", nil, "something that was decided, and why; may be repeated")
	fl.StringArrayVar(&x.Threads, "thread", nil, "something left to do; may be repeated")
	fl.StringVar(&x.Happened, "happened", "", "what happened: a text, @FILE, or - for standard input")
	fl.StringVar(&x.State, "state", "", "the whole current state from now on: a text, @FILE, or - (default: as it "+
		"was, with what is open)")
	fl.StringVar(&x.StateBase, "state-base", "", "the version of the current state that the new one rests on, if "+
		"another session wrote it meanwhile")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if x.Happened == "-" && x.State == "-" {
			return perdure.Invalid(errors.New("standard input is one text; give --happened or --state as @FILE"))
		}
		for _, text := range []*string{&x.Happened, &x.State} {
			if *text != "" {
				if *text, err = textArg(c, *text); err != nil {
					return err
				}
			}
		}
		return m.use(false, workspace.DefaultRole, func(ctx context.Context, r *workspace.Reader) error {
			done, err := r.CloseArgs(ctx, x)
			if err != nil {
				return err
			}
			for _, text := range done.Notes {
				note(c, "%s", text)
			}
			return m.out.say(done, "closed %s: %s\n", done.Summary.Path, view.OneLine(done.Summary.Title, 0))
		})
	}
	return c
}

func sessionLsCommand() *cobra.Command {
	c := command("session ls", cobra.NoArgs)
	m := newMemory(c)
	limit := view.Limit(50)
	c.Flags().Var(&limit, "limit", "list at most N, newest first")
	c.RunE = func(*cobra.Command, []string) error {
		none := "there are no sessions yet; perdure session open begins one"
		return m.listed(none, func(ctx context.Context, r *workspace.Reader) (documents, error) {
			return r.Sessions(ctx, int(limit))
		})
	}
	return c
}

func sessionRecoverCommand() *cobra.Command {
	c := command("session recover", cobra.NoArgs)
	m := newMemory(c)
	c.RunE = func(*cobra.Command, []string) error {
		none := "no session was left open by a process that ended"
		return m.listed(none, func(ctx context.Context, r *workspace.Reader) (documents, error) {
			return r.Recover(ctx)
		})
	}
	return c
}

func searchCommand() *cobra.Command {
	c := command("search", cobra.ArbitraryArgs)
	m := newMemory(c).visibility("only documents that these see")
	in := workspace.SearchArgs{Limit: 10}
	fl := c.Flags()
	fl.StringArrayVar(&in.Kinds, "kind", nil, "only this kind: decision, plan, note, session, turn (what was said), "+
		"result, …; may be repeated")
	fl.StringVar(&in.Agent, "agent", "", "only the memory of this agent")
	fl.StringVar(&in.Since, "since", "", "only from this time on: a day, a time, or how long ago (48h)")
	fl.StringVar(&in.Before, "before", "", "only before this time")
	fl.Var(&in.Limit, "limit", "find at most N, up to 200")
	rebuild := fl.Bool("rebuild", false, "derive the index anew from the store first")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && !*rebuild {
			return perdure.Invalid(errors.New("say what to look for, as in perdure search \"why sqlite?\""))
		}
		in.Query = strings.Join(args, " ")
		in.Visibility = m.tier
		s, err := in.Search()
		if err != nil {
			return err
		}
		return m.use(false, "", func(ctx context.Context, r *workspace.Reader) error {
			if *rebuild {
				if err := r.Rebuild(ctx, m.h.Progressed); err != nil {
					return err
				}
				if note(c, "the search index was derived anew"); len(args) == 0 {
					return nil
				}
			}
			s.Note = func(text string) { note(c, "%s", text) }
			return answers(m.out, show.Found)(r.Find(ctx, s))
		})
	}
	return c
}
