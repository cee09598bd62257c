package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

func sessionCommand() *cobra.Command {
	c := command("session", nil)
	c.AddCommand(sessionOpenCommand(), sessionCloseCommand(), sessionLsCommand())
	return c
}

func sessionOpenCommand() *cobra.Command {
	c := command("session open", cobra.NoArgs)
	m := newMemory(c)
	c.RunE = func(*cobra.Command, []string) error {
		return m.use(true, func(ctx context.Context, r *workspace.Reader) error {
			r.Alive = nil // this process ends, and the session does not
			o, err := r.Open(ctx)
			if err != nil {
				return err
			}
			return m.out.print(o, func(w io.Writer) error {
				_, err := io.WriteString(w, o.String())
				return err
			})
		})
	}
	return c
}

func sessionCloseCommand() *cobra.Command {
	c := command("session close", cobra.NoArgs)
	m := newMemory(c)
	var x workspace.Closing
	fl := c.Flags()
	fl.StringVar(&x.Session, "session", "", "the session, by its path (default: the last one open)")
	fl.StringVar(&x.Title, "title", "", "one line, by which the summary is found")
	fl.StringArrayVar(&x.Decisions, "decision", nil, "something that was decided, and why; may be repeated")
	fl.StringArrayVar(&x.Threads, "thread", nil, "something left to do; may be repeated")
	happened := fl.String("happened", "", "what happened: a text, @FILE, or - for standard input")
	state := fl.String("state", "", "the whole current state from now on: a text, @FILE, or - (default: as it was, "+
		"with what is open)")
	base := fl.String("state-base", "", "the version of the current state that the new one rests on, if another "+
		"session wrote it meanwhile")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *happened == "-" && *state == "-" {
			return perdure.Invalid(errors.New("standard input is one text; give --happened or --state as @FILE"))
		}
		var err error
		for from, to := range map[*string]*string{happened: &x.Happened, state: &x.State} {
			if *from != "" {
				if *to, err = textArg(c, *from); err != nil {
					return err
				}
			}
		}
		if *base != "" {
			if x.StateBase, err = perdure.ParseHash(*base); err != nil {
				return perdure.Invalid(fmt.Errorf("--state-base: %w", err))
			}
		}
		return m.use(false, func(ctx context.Context, r *workspace.Reader) error {
			done, err := r.Close(ctx, x)
			if err != nil {
				return err
			}
			for _, text := range done.Notes {
				note(c, "%s", text)
			}
			return m.out.print(done, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "closed %s: %s\n", done.Summary.Path, view.OneLine(done.Summary.Title, 0))
				return err
			})
		})
	}
	return c
}

func sessionLsCommand() *cobra.Command {
	c := command("session ls", cobra.NoArgs)
	m := newMemory(c)
	limit := c.Flags().Int("limit", 50, "list at most N, newest first")
	c.RunE = func(*cobra.Command, []string) error {
		return m.list(func(ctx context.Context, r *workspace.Reader, _ *workspace.Visibility) ([]*workspace.Document,
			error) {
			return r.Sessions(ctx, *limit)
		})
	}
	return c
}

func searchCommand() *cobra.Command {
	c := command("search", cobra.ArbitraryArgs)
	m := newMemory(c).visibility("only documents that these see")
	in := workspace.SearchArgs{}
	fl := c.Flags()
	fl.StringArrayVar(&in.Kinds, "kind", nil, "only this kind: decision, plan, note, session, turn (what was said), "+
		"result, …; may be repeated")
	fl.StringVar(&in.Agent, "agent", "", "only the memory of this agent")
	fl.StringVar(&in.Since, "since", "", "only from this time on: a day, a time, or how long ago (48h)")
	fl.StringVar(&in.Before, "before", "", "only before this time")
	fl.IntVar(&in.Limit, "limit", 10, "find at most N, up to 200")
	rebuild := fl.Bool("rebuild", false, "derive the index anew from the store first")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && !*rebuild {
			return perdure.Invalid(errors.New("say what to look for, as in perdure search \"why sqlite?\""))
		}
		in.Query = strings.Join(args, " ")
		if m.on != nil {
			in.Visibility = *m.on
		}
		s, err := in.Search()
		if err != nil {
			return err
		}
		return m.use(false, func(ctx context.Context, r *workspace.Reader) error {
			if *rebuild {
				if err := rebuildIndex(ctx, m, r); err != nil || len(args) == 0 {
					return err
				}
			}
			found, err := r.Find(ctx, s)
			if err != nil {
				return err
			}
			return list(m.out, found, func(w io.Writer) error { return writeFound(w, found) })
		})
	}
	return c
}

// rebuildIndex derives the search index anew.
func rebuildIndex(ctx context.Context, m *memoryFlags, r *workspace.Reader) error {
	bar := func(what string) func(done, total int64) {
		return func(done, total int64) { m.h.Progressed(what, done, total) }
	}
	if err := r.Index.Rebuild(ctx, r.Store, bar("index")); err != nil {
		return err
	}
	if err := r.EmbedAll(ctx, bar("embeddings")); err != nil {
		return err
	}
	note(m.c, "the search index was derived anew")
	return nil
}

func writeFound(w io.Writer, found []*workspace.Found) error {
	var b strings.Builder
	for _, f := range found {
		where := f.Path
		if where == "" {
			where = fmt.Sprintf("%s@%d", view.CommandName(f.Called, f.Agent), f.Seq)
		}
		fmt.Fprintf(&b, "%s  %s  %s", view.InLine(where), f.Kind, f.Time.Go().Local().Format("2006-01-02 15:04"))
		if f.Title != "" {
			fmt.Fprintf(&b, "  %s", view.OneLine(f.Title, 80))
		}
		fmt.Fprintf(&b, "\n    %s\n", view.OneLine(f.Snippet, 400))
	}
	if len(found) == 0 {
		b.WriteString("nothing found\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
