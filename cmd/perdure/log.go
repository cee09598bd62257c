package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func logCommand() *cobra.Command {
	c := command("log", cobra.ExactArgs(1))
	h, out := lookFlag(c), outputFlags(c)
	l := &logged{out: out, chosen: chosenFlags(c)}
	c.Flags().IntVarP(&l.last, "lines", "n", 0, "only the last N (default all)")
	c.Flags().BoolVar(&l.follow, "follow", false, "continue as entries arrive")
	c.Flags().BoolVar(&l.reads, "reads", false, "show every read on its own line")
	c.Flags().BoolVar(&l.brief, "brief", false, "cut actions too, to fit a line")
	c.Flags().BoolVar(&l.whole, "whole", false, "cut nothing")
	c.Flags().BoolVar(&l.talk, "transcript", false, "show the conversation: who said what, calls and results, decisions and answers")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := l.prepare(c); err != nil {
			return err
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
	if l.reads && l.tool != "" {
		return perdure.Invalid(errors.New("--tool shows every call of that tool anyway; leave --reads out"))
	}
	return l.parse(c)
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
		return l.out.line(l.format, one, func(s term.Style) string { return lineText(one, s) })
	}
	if l.format == formatJSON || l.format == formatYAML {
		show = func(one view.Line) error { values = append(values, one); return nil }
	}
	if l.talk {
		show = l.transcript(&values)
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
		if !l.fits(one) {
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
		return l.out.line(l.format, said, func(s term.Style) string { return saidText(&said, s, l.whole) })
	}
}

// saidText is one thing of a conversation for people: who and what on a line with a short text, else the text below.
func saidText(said *view.Said, s term.Style, whole bool) string {
	head := said.Who + " " + said.What
	if said.Signal != 0 && said.Signal != perdure.OK {
		head += " " + said.Signal.String()
	}
	head = view.InLine(head)
	text := strings.TrimSpace(said.Text)
	switch said.What {
	case view.SaidText, view.SaidEnd, view.SaidGoal:
		if strings.Contains(text, "\n") || s.Width > 0 && term.Columns(head+": "+text) > s.Width {
			return s.Head(head) + ":\n" + term.Paragraphs("  ", text, s.Width)
		}
	case view.SaidCall, view.SaidResult:
		if text = view.OneLine(text, 0); !whole {
			text = view.OneLine(text, view.LineWidth)
		}
		return strings.TrimRight(term.Folded("  "+s.Dim(head)+" ", term.Columns(head)+3, text, s.Width), "\n")
	default:
		text = view.OneLine(text, 0)
	}
	if text == "" {
		return s.Head(head)
	}
	return strings.TrimRight(term.Folded(s.Head(head)+": ", term.Columns(head)+2, view.InLine(text), s.Width), "\n")
}

// past shows what there is and returns a follower that stands behind it.
func (l *logged) past(ctx context.Context, s perdure.Store, id perdure.AgentID, show func(view.Line) error) (*view.Follower, error) {
	pick := view.Fitting(l.fits)
	if l.format == formatTable && !l.reads && !l.talk && l.tool == "" {
		pick = view.FoldingReads(l.fits)
	}
	if l.last > 0 {
		w, found, err := view.FollowRecent(ctx, s, id, l.last, pick)
		for _, one := range found {
			if err == nil {
				err = show(one)
			}
		}
		return w, err
	}
	add, flush := pick(show)
	w := view.Follow(s, id)
	if err := errors.Join(w.Next(ctx, add), flush()); err != nil {
		return nil, err
	}
	return w, nil
}

// text is the line for people. Columns have fixed widths, since lines come one at a time.
func lineText(l view.Line, s term.Style) string { return lineAfter(l, s, "", 0) }

// after is the line for people behind a head that takes so many columns. On a terminal it goes on under its own
// beginning, so that nothing an entry says can look like another entry.
func lineAfter(l view.Line, s term.Style, head string, width int) string {
	signal := ""
	if l.Signal != 0 {
		signal = l.Signal.String()
	}
	pad := fmt.Sprintf("%-9s", signal)
	switch l.Signal {
	case 0, perdure.OK:
	case perdure.Partial, perdure.Throttled, perdure.Incapable:
		pad = s.Warn(pad)
	default:
		pad = s.Bad(pad)
	}
	kind := l.Folded
	if kind == "" {
		kind = l.Kind.String()
	}
	seq := fmt.Sprintf("%5d", l.Seq)
	at := stamp(l.Time.Go().Local(), s.Width)
	head += fmt.Sprintf("%s  %s  %-8s  %s  ", seq, s.Dim(at), kind, pad)
	return strings.TrimSuffix(term.Folded(head, width+len(seq)+2+len(at)+2+8+2+9+2, l.Said(), s.Width), "\n")
}

// wideLog is how many columns a terminal has that has room for a whole time beside what an entry says.
const wideLog = 120

// stamp is when an entry was written, as far as there is room.
func stamp(t time.Time, width int) string {
	if width > 0 && width < wideLog {
		return t.Format("01-02 15:04:05")
	}
	return t.Format("2006-01-02 15:04:05.000")
}
