package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
)

var benchExits = exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted)

func benchStepsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "steps [flags]",
		Short: "Measure durable steps of agents at work",
		Long: `Steps runs agents that do nothing but steps: an advice, a decision and an outcome with a result of --payload bytes, durable before the
next step begins. Agents at work at the same time share commits.`,
		Example: `  perdure bench steps
  perdure bench steps --agents 64 --steps 50 --effect once
  perdure bench steps --store /srv --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
	p := benchFlags(c).syncFlag()
	agents := c.Flags().Int("agents", 1, "agents at work at once")
	steps := c.Flags().Int("steps", 2000, "steps of each agent")
	payload := c.Flags().Int("payload", 1024, "bytes each step returns")
	effect := &choice{perdure.Read.String(), perdure.Effect(0).CanonNames()[1:]}
	choiceFlag(c, effect, "effect", "class of the step: once takes two commits, the others one")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := atLeastOne(c, "agents", *agents, "steps", *steps); err != nil {
			return err
		}
		if err := payloadFits(c, *payload); err != nil {
			return err
		}
		class, err := parseName[perdure.Effect]("--effect", effect.value)
		if err != nil {
			return misuse(c, err)
		}
		return p.with(func() error {
			bar := newProgress(c, "steps", int64(*agents**steps))
			set := bench.Steps{Agents: *agents, Steps: *steps, Payload: *payload, Effect: class, Dir: p.dir, Done: func(n int) { bar.to(int64(n)) }}
			f, err := set.Run(c.Context(), p.open)
			bar.end()
			if err != nil {
				return err
			}
			return p.report(f)
		})
	}
	return c
}

func benchDormantCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "dormant [flags]",
		Short: "Measure starting agents that sleep, and finding those that are due",
		Long: `Dormant starts agents that go to sleep at once, opens the store again as a new process would, and looks for the next thousand that are
due. It measures what an agent that does nothing costs: time, disk and memory.`,
		Example: `  perdure bench dormant
  perdure bench dormant --agents 1000000 --store /srv`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
	p := benchFlags(c)
	agents := c.Flags().Int("agents", 10_000, "how many sleep")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := atLeastOne(c, "agents", *agents); err != nil {
			return err
		}
		if p.inMemory() {
			return misuse(c, errors.New("a store in memory is not there for a new process; name a folder with --store"))
		}
		return p.with(func() error {
			bar := newProgress(c, "agents", int64(*agents))
			f, err := bench.Dormant{Agents: *agents, Dir: p.dir, Done: func(n int) { bar.to(int64(n)) }}.Run(c.Context(), p.open)
			bar.end()
			if err != nil {
				return err
			}
			return p.report(f)
		})
	}
	return c
}

// appendTotal is about how many appends each line of the append benchmark makes.
const appendTotal = 20_000

// wideAgents is how many agents the appends are spread over with --wide.
const wideAgents = 100_000

func benchAppendCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "append [flags]",
		Short: "Measure appends to the store, beside raw SQLite",
		Long: `Append appends entries that were signed beforehand, from several writers at once, and then does the same with nothing but SQLite: one
table, one committer, the same pragmas, bytes of the same length. The ratio is what the store costs on top.`,
		Example: `  perdure bench append
  perdure bench append --writers 1,16 --each 500 --json
  perdure bench append --writers 256 --wide`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
	p := benchFlags(c).syncFlag()
	writers := c.Flags().IntSlice("writers", []int{1, 16, 256}, "writers at once; each number is one line")
	each := c.Flags().Int("each", 0, fmt.Sprintf("appends of each writer (default: about %d in all)", appendTotal))
	payload := c.Flags().Int("payload", 1024, "bytes of data in each entry")
	wide := c.Flags().Bool("wide", false, fmt.Sprintf("spread the appends over %d agents", wideAgents))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*writers) == 0 {
			return misuse(c, errors.New("--writers: name at least one number"))
		}
		for _, n := range *writers {
			if err := atLeastOne(c, "writers", n); err != nil {
				return err
			}
		}
		if c.Flags().Changed("each") {
			if err := atLeastOne(c, "each", *each); err != nil {
				return err
			}
		}
		if err := payloadFits(c, *payload); err != nil {
			return err
		}
		var figures []*bench.Figures
		for _, n := range *writers {
			err := p.with(func() error {
				set := bench.Appends{Writers: n, Each: *each, Payload: *payload, Dir: p.dir, Sync: p.level().String()}
				if set.Each == 0 {
					set.Each = max(appendTotal/n, 20)
				}
				if *wide {
					set.Agents = wideAgents
				}
				raw := ""
				if !p.inMemory() {
					raw = filepath.Join(p.dir, "raw.db")
				}
				f, err := set.Run(c.Context(), p.open, raw)
				if err == nil {
					p.label(f)
					figures = append(figures, f)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		if jsonFlag(c) {
			return printJSON(c.OutOrStdout(), figures)
		}
		return writeFigures(c.OutOrStdout(), figures)
	}
	return c
}

// atLeastOne refuses flags below one, given as names and values.
func atLeastOne(c *cobra.Command, pairs ...any) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if n, ok := pairs[i+1].(int); ok && n < 1 {
			return misuse(c, fmt.Errorf("--%v %d: want at least 1", pairs[i], n))
		}
	}
	return nil
}

// payloadFits refuses a payload that no entry can hold.
func payloadFits(c *cobra.Command, n int) error {
	const room = 4 << 10 // for the rest of the body
	if n < 0 || n > perdure.MaxBody-room {
		return misuse(c, fmt.Errorf("--payload %d: want 0 to %d bytes", n, perdure.MaxBody-room))
	}
	return nil
}
