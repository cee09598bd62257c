package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

func showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show [flags] AGENT[@REF]",
		Short: "Show an agent on one screen",
		Long: `Show prints an agent's goal and standing, why it sleeps and what would wake it, which nodes can continue it,
what it has spent, its children, what it asks people and how to answer, effects under way, and whether its
memory is consistent. All of it is derived from the agent's own memory.`,
		Example: `  perdure show news
  perdure show news --jq .why
  perdure show news@10m`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	brief := c.Flags().Bool("brief", false, "cut lines to fit")
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			p, err := home.FindPoint(ctx, h.Home, s, arg)
			if err != nil {
				return err
			}
			now := time.Now()
			if p.Entry != nil {
				now = p.Entry.Time.Go().Local()
			}
			trust, err := h.Trust()
			if err != nil {
				return err
			}
			v := view.Summarize(p.Agent, trust, h.KeyNames(), h.NodeKey(), now)
			v.Survives = home.SurvivedBy(s)
			if set, err := new(home.Powers).Policy(h.Home); err == nil { // whoever runs it is told why it does not load
				v.Judge(set, p.Agent, now)
			}
			if p.Entry == nil {
				at, err := view.AttendanceOf(ctx, s)
				if err != nil {
					return err
				}
				older, err := h.Behind(ctx, s, p.Agent)
				if err != nil {
					return err
				}
				v.Outrun(older)
				v.Unsure, v.Waits = !at.Known, append(at.Strays(p.Agent, now), v.Waits...)
				place, err := h.PlaceOf(ctx, s)
				if err != nil {
					return err
				}
				v.Seated(p.Agent, trust, place, now)
			}
			if err := view.DescribeAll(ctx, s, p.Agent, v.Waits); err != nil {
				return err
			}
			for i := range v.Waits {
				typed(&v.Waits[i])
			}
			if err := v.FindChildren(ctx, s); err != nil {
				return err
			}
			return out.print(v, func(w io.Writer) error { return writeSummary(w, &v, now, *brief) })
		})
	}
	return c
}
