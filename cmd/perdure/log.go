package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func logCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "log [flags] AGENT",
		Short: "Show an agent's memory, one line an entry",
		Long: `Log prints the memory of an agent, oldest entry first: seq, time, kind, how it ended, and what it says. Seq and hash can be used
in AGENT@REF.

With --follow it goes on as entries arrive, from this process or another, until the agent has ended.`,
		Example: `  perdure log news
  perdure log news -n 20 --kind outcome --signal failed
  perdure log news --follow -o jsonl`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	l := &logged{out: out}
	kinds := c.Flags().StringSlice("kind", nil, "only entries of this kind; may be repeated")
	signals := c.Flags().StringSlice("signal", nil, "only entries that ended so; may be repeated")
	c.Flags().StringVar(&l.tool, "tool", "", "only entries about this tool")
	c.Flags().IntVarP(&l.last, "lines", "n", 0, "only the last so many (default all)")
	c.Flags().BoolVar(&l.follow, "follow", false, "go on as entries arrive")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := l.prepare(c, *kinds, *signals); err != nil {
			return err
		}
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			id, err := findAgent(ctx, c, s, arg)
			if err != nil {
				return err
			}
			return l.run(ctx, s, id)
		})
	}
	return c
}

// logged is one run of log.
type logged struct {
	out     *output
	kinds   []perdure.Kind
	signals []perdure.Signal
	tool    string
	last    int
	follow  bool
	stream  bool // lines are printed as they come

	told   *narrator
	cursor perdure.Cursor
}

// prepare checks the flags.
func (l *logged) prepare(c *cobra.Command, kinds, signals []string) error {
	format, err := l.out.check()
	if err != nil {
		return err
	}
	if l.follow && (format == formatJSON || format == formatYAML) {
		return misuse(c, fmt.Errorf("--follow never comes to the end of one %s value; use -o jsonl", strings.ToUpper(format)))
	}
	if l.last < 0 || c.Flags().Changed("lines") && l.last == 0 {
		return misuse(c, errors.New("-n: want at least 1"))
	}
	for _, word := range kinds {
		k, err := parseName[perdure.Kind]("--kind", word)
		if err != nil {
			return misuse(c, err)
		}
		l.kinds = append(l.kinds, k)
	}
	for _, word := range signals {
		s, err := parseName[perdure.Signal]("--signal", word)
		if err != nil {
			return misuse(c, err)
		}
		l.signals = append(l.signals, s)
	}
	l.stream = format == formatLines || format == formatTable
	l.told = newNarrator()
	return nil
}

// parseName reads the name of a wire number.
func parseName[T interface {
	~uint8
	CanonNames() []string
}](what, word string) (T, error) {
	names := T(0).CanonNames()
	i := slices.Index(names, word)
	if i < 0 || word == "" {
		return 0, fmt.Errorf("%s %q: want one of %s", what, word, strings.Join(names[1:], ", "))
	}
	return T(i), nil
}

// run prints what there is, and with --follow what comes.
func (l *logged) run(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	found, err := l.read(ctx, s, id)
	if err != nil {
		return err
	}
	if l.last > 0 && len(found) > l.last {
		found = found[len(found)-l.last:]
	}
	if !l.stream {
		values := make([]any, len(found))
		for i := range found {
			values[i] = found[i]
		}
		return l.out.list(values, nil)
	}
	if err := l.print(found); err != nil || !l.follow {
		return err
	}
	changed := watch(ctx, s)
	for {
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			return err
		}
		ended := a.Fold().Ended != nil
		if found, err = l.read(ctx, s, id); err != nil {
			return err
		}
		if err := l.print(found); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// read is the lines after the cursor that the filters let pass.
func (l *logged) read(ctx context.Context, s perdure.Store, id perdure.AgentID) ([]line, error) {
	var found []line
	for item, err := range s.Entries(ctx, id, l.cursor) {
		if err != nil {
			return nil, err
		}
		l.cursor = item.Cursor
		if one := l.told.line(item.Entry); l.fits(one) {
			found = append(found, one)
		}
	}
	return found, nil
}

func (l *logged) fits(one line) bool {
	return (len(l.kinds) == 0 || slices.Contains(l.kinds, one.Kind)) &&
		(len(l.signals) == 0 || slices.Contains(l.signals, one.Signal)) &&
		(l.tool == "" || one.Tool == l.tool)
}

// print prints lines as they come.
func (l *logged) print(found []line) error {
	for _, one := range found {
		err := l.out.print(one, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, one.text(styleOf(w)))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// text is the line for people. Columns have fixed widths, since lines come one at a time.
func (l line) text(s style) string {
	signal := ""
	if l.Signal != 0 {
		signal = l.Signal.String()
	}
	pad := fmt.Sprintf("%-9s", signal)
	switch l.Signal {
	case 0, perdure.OK:
	case perdure.Partial, perdure.Throttled, perdure.Incapable:
		pad = s.warn(pad)
	default:
		pad = s.bad(pad)
	}
	return strings.TrimRight(fmt.Sprintf("%5s  %s  %-8s  %s  %s", strconv.FormatInt(l.Seq, 10), s.dim(l.Time.Go().Format("2006-01-02 15:04:05.000")),
		l.Kind, pad, oneLine(l.What, lineWidth)), " ")
}

// lineWidth is how much of what an entry says fits a line.
const lineWidth = 160

// followPoll is how often a store is looked at while following, in case its watch missed something or it has none.
const followPoll = time.Second

// watch yields something whenever the store may have new entries, until ctx ends.
func watch(ctx context.Context, s perdure.Store) <-chan struct{} {
	changed := make(chan struct{}, 1)
	nudge := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if w, ok := s.(perdure.Watcher); ok {
		go func() {
			for _, err := range w.Watch(ctx) {
				if err != nil {
					return
				}
				nudge()
			}
		}()
	}
	go func() {
		tick := time.NewTicker(followPoll)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				nudge()
			}
		}
	}()
	return changed
}
