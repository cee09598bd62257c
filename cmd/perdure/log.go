package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func logCommand() *cobra.Command {
	c := remotely(command("log", cobra.ExactArgs(1)))
	h, out := lookFlag(c), outputFlags(c)
	l := &logged{out: out, chosen: chosenFlags(c)}
	c.Flags().IntVarP(&l.last, "lines", "n", 0, "only the last N (default all)")
	c.Flags().BoolVar(&l.follow, "follow", false, "continue as entries arrive")
	c.Flags().BoolVar(&l.reads, "reads", false, "show every read on its own line")
	c.Flags().BoolVar(&l.brief, "brief", false, "cut actions too, to fit a line")
	c.Flags().BoolVar(&l.whole, "whole", false, "cut nothing")
	c.Flags().BoolVar(&l.talk, "transcript", false,
		"show the conversation: who said what, calls and results, decisions and answers")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := l.prepare(c); err != nil {
			return err
		}
		if r, err := through(c); err != nil || r != nil {
			if err != nil {
				return err
			}
			return l.away(r, args[0])
		}
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			id, err := home.Find(ctx, s, arg)
			if err != nil {
				return err
			}
			l.heard.Names = h.KeyNames()
			return l.run(ctx, s, id)
		})
	}
	return c
}

// logged is one run of log.
type logged struct {
	*chosen
	out    *output
	last   int
	follow bool
	reads  bool
	brief  bool
	whole  bool
	talk   bool
	heard  view.Transcriber
	format string
	much   int // of each entry
}

// prepare checks the flags.
func (l *logged) prepare(c *cobra.Command) (err error) {
	if l.format, err = l.out.check(); err != nil {
		return err
	}
	if l.follow {
		if l.format, err = lineFormat(c, l.format); err != nil {
			return err
		}
	}
	switch {
	case l.brief && l.whole:
		return perdure.Invalid(errors.New("--brief and --whole contradict each other; use one of them"))
	case l.brief:
		l.much = view.MuchBrief
	case l.whole:
		l.much = view.MuchWhole
	}
	if l.last < 0 || c.Flags().Changed("lines") && l.last == 0 {
		return perdure.Invalid(errors.New("-n: want at least 1"))
	}
	if l.reads && l.format != formatTable {
		return perdure.Invalid(fmt.Errorf("%s has every read anyway; leave --reads out", strings.ToUpper(l.format)))
	}
	if l.reads && l.Tool != "" {
		return perdure.Invalid(errors.New("--tool shows every call of that tool anyway; leave --reads out"))
	}
	return l.parse()
}

// lineFormat is the format for what never comes to an end: each value has a line of its own.
func lineFormat(c *cobra.Command, format string) (string, error) {
	switch format {
	case formatYAML:
		return "", perdure.Invalid(errors.New("following never comes to the end of a YAML list; use -o jsonl"))
	case formatJSON:
		return formatLines, nil
	}
	return format, nil
}

// run prints what there is, and with --follow what comes.
func (l *logged) run(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	var values []any
	show := func(one view.Line) error {
		one.Much = l.much
		return l.out.line(l.format, one, func(s term.Style) string { return term.Line(one, s) })
	}
	if l.format == formatJSON || l.format == formatYAML {
		show = func(one view.Line) error { values = append(values, one); return nil }
	}
	if l.talk {
		show = l.transcript(&values)
	}
	if l.follow {
		if err := noteUnattended(ctx, l.out.c, s, id); err != nil {
			return err
		}
	}
	w, err := l.past(ctx, s, id, show)
	switch {
	case err != nil:
		return err
	case l.format == formatJSON || l.format == formatYAML:
		return list(l.out, values, nil)
	case !l.follow:
		return nil
	}
	return view.Live(ctx, s, []*view.Follower{w}, func(_ *view.Follower, one view.Line) error {
		if !l.Fits(one) {
			return nil
		}
		return show(one)
	})
}

// transcript shows lines as a conversation, or keeps them for a list.
func (l *logged) transcript(values *[]any) func(view.Line) error {
	return func(one view.Line) error {
		said, ok := l.heard.Said(one)
		if !ok {
			return nil
		}
		if l.format == formatJSON || l.format == formatYAML {
			*values = append(*values, said)
			return nil
		}
		return l.out.line(l.format, said, func(s term.Style) string { return term.Said(&said, s, l.whole) })
	}
}

// past shows what there is and returns a follower that stands behind it.
func (l *logged) past(ctx context.Context, s perdure.Store, id perdure.AgentID,
	show func(view.Line) error) (*view.Follower, error) {
	pick := view.Fitting(l.Fits)
	if l.format == formatTable && !l.reads && !l.talk && l.Tool == "" {
		pick = view.FoldingReads(l.Fits)
	}
	return view.FollowFrom(ctx, s, id, l.last, pick, show)
}
