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
	l := &logged{series: series{output: out}, chosen: chosenFlags(c)}
	c.Flags().VarP((*view.Limit)(&l.last), "lines", "n", "only the last N (default all)")
	c.Flags().BoolVar(&l.follow, "follow", false, "continue as entries arrive")
	c.Flags().BoolVar(&l.reads, "reads", false, "show every read on its own line")
	c.Flags().BoolVar(&l.brief, "brief", false, "cut actions too, to fit a line")
	c.Flags().BoolVar(&l.uncut, "whole", false, "cut nothing")
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
			id, err := h.FindAgent(ctx, s, arg)
			if err != nil {
				return err
			}
			l.voices = h.Voices(func() (*perdure.Agent, error) { return h.Load(ctx, s, id) })
			l.heard.Voices = l.voices
			return l.run(ctx, h.Home, s, id)
		})
	}
	return c
}

// logged is one run of log.
type logged struct {
	*chosen
	series
	last   int
	follow bool
	reads  bool
	brief  bool
	uncut  bool // --whole
	talk   bool
	heard  view.Transcriber
	voices view.Voices // nil: the server has named them
	much   int         // of each entry
	seq    int64
}

// prepare checks the flags.
func (l *logged) prepare(c *cobra.Command) (err error) {
	if l.as, err = l.check(); err != nil {
		return err
	}
	if l.follow {
		if l.as, err = lineFormat(c, l.as); err != nil {
			return err
		}
	}
	switch {
	case l.brief && l.uncut:
		return perdure.Invalid(errors.New("--brief and --whole contradict each other; use one of them"))
	case l.brief:
		l.much = view.MuchBrief
	case l.uncut:
		l.much = view.MuchWhole
	}
	if l.reads && l.as != formatTable {
		return perdure.Invalid(fmt.Errorf("%s has every read anyway; leave --reads out", strings.ToUpper(l.as)))
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
func (l *logged) run(ctx context.Context, h *home.Home, s perdure.Store, id perdure.AgentID) error {
	if l.follow {
		if err := noteUnattended(ctx, l.c, s, id); err != nil {
			return err
		}
	}
	pick := view.Fitting(l.Fits)
	if l.as == formatTable && !l.reads && !l.talk && l.Tool == "" {
		pick = view.FoldingReads(l.Fits)
	}
	w, err := view.FollowFrom(ctx, s, id, l.last, pick, l.show)
	if err != nil {
		return err
	}
	if !l.follow {
		return l.end()
	}
	return view.Live(ctx, s, h.Ended, []*view.Follower{w}, func(_ *view.Follower, one view.Line) error {
		if !l.Fits(one) {
			return nil
		}
		return l.show(one)
	})
}

// show prints an entry, or what it adds to the conversation.
func (l *logged) show(one view.Line) error {
	if !l.talk {
		one.Much = l.much
		one.Call(l.voices)
		return l.add(one, func(s term.Style) string { return l.apart(s, one.Seq) + term.Line(one, s) })
	}
	said, ok := l.heard.Said(one)
	if !ok {
		return nil
	}
	return l.said(said)
}

func (l *logged) said(one view.Said) error {
	return l.add(one, func(s term.Style) string { return l.apart(s, one.Seq) + term.Said(&one, s, l.uncut) })
}

// apart is the line before an entry that does not follow from the one before it.
func (l *logged) apart(s term.Style, seq int64) (line string) {
	if seq < l.seq {
		line = term.Beside(s) + "\n"
	}
	l.seq = seq
	return line
}

// away is log of an agent behind a server.
func (l *logged) away(r *home.Away, arg string) error {
	if !l.talk {
		if err := r.Log(l.c.Context(), arg, l.Choice, l.last, l.follow, l.show); err != nil {
			return err
		}
		return l.end()
	}
	said, before, err := r.Transcript(l.c.Context(), arg, l.last)
	if err != nil {
		return err
	}
	if before && (l.last == 0 || l.last > home.MaxLast) {
		note(l.c, "a server gives the conversation of the last %d entries; there is more before", home.MaxLast)
	}
	for _, one := range said {
		if err := l.said(one); err != nil {
			return err
		}
	}
	return l.end()
}
