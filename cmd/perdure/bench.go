package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
	"github.com/perdure/perdure/internal/term"
)

func benchCommand() *cobra.Command {
	c := command("bench", nil)
	for i := range bench.Workloads(new(bench.Host)) {
		c.AddCommand(benchmarkCommand(i))
	}
	return c
}

// benchmarkCommand is the command of a workload, which prints what it came to.
func benchmarkCommand(i int) *cobra.Command {
	var c *cobra.Command
	var bar *term.Progress
	host := &bench.Host{Given: func(param string) bool { return c.Flags().Changed(param) }}
	host.Do = func(ctx context.Context, args []string) error {
		root := newRoot()
		root.SetArgs(args)
		root.SetOut(io.Discard)
		root.SetErr(c.ErrOrStderr())
		return root.ExecuteContext(ctx)
	}
	host.Done = func(what string, n, of int) {
		if bar == nil || !bar.Is(what) {
			bar = term.NewProgress(c.ErrOrStderr(), what, int64(of))
		}
		if bar.Of(int64(n), int64(of)); n >= of {
			bar.End()
		}
	}
	w := bench.Workloads(host)[i]
	c = command("bench "+w.Name, cobra.NoArgs)
	if w.Place != nil {
		c.Flags().StringVar(&w.Place.Folder, "store", "", "create the store in a new folder below this one, in a new "+
			"schema of postgres://…, in new streams of nats://…, or mem: (default: the temporary folder)")
	}
	chosen := map[*string]*choice{}
	for _, p := range w.Params {
		paramFlag(c, p, chosen)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		host.Out = c.OutOrStdout()
		for to, word := range chosen {
			*to = word.value
		}
		if err := w.Check(); err != nil {
			return perdure.Invalid(err)
		}
		r, err := w.Run(c.Context())
		if bar != nil {
			bar.End()
		}
		if err != nil || r == nil {
			return err
		}
		return writeReport(c, r)
	}
	return c
}

// paramFlag adds a flag for a parameter of a workload; a word of several is chosen.
func paramFlag(c *cobra.Command, p bench.Param, chosen map[*string]*choice) {
	f := c.Flags()
	switch to := p.To.(type) {
	case *int:
		f.IntVar(to, p.Name, *to, p.Usage)
	case *[]int:
		f.IntSliceVar(to, p.Name, *to, p.Usage)
	case *time.Duration:
		f.DurationVar(to, p.Name, *to, p.Usage)
	case *bool:
		f.BoolVar(to, p.Name, *to, p.Usage)
	case *[]string:
		f.StringArrayVar(to, p.Name, *to, p.Usage)
	case *string:
		if p.Of != nil {
			chosen[to] = &choice{*to, p.Of}
			choiceFlag(c, chosen[to], p.Name, p.Usage)
			break
		}
		f.StringVar(to, p.Name, *to, p.Usage)
	}
	f.Lookup(p.Name).Hidden = p.Hidden
}

// writeReport prints what a benchmark came to: tables and notes, or JSON.
func writeReport(c *cobra.Command, r bench.Measured) error {
	w := c.OutOrStdout()
	if jsonFlag(c) {
		return term.WriteJSON(w, r)
	}
	for i, t := range r.Tables() {
		before, after := "", ""
		if i > 0 {
			before = "\n"
		}
		if t.Title != "" {
			before += t.Title + "\n\n"
		}
		for i, note := range t.Notes {
			if i == 0 {
				after = "\n"
			}
			after += note + "\n"
		}
		_, err := io.WriteString(w, before)
		if err == nil {
			err = (&term.Table{Head: t.Head, Rows: t.Rows}).Write(w)
		}
		if err == nil {
			_, err = io.WriteString(w, after)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
