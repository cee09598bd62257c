package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func benchStepsCommand() *cobra.Command {
	c := command("bench steps", cobra.NoArgs)
	p := benchFlags(c).syncFlag(c)
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
		class, err := view.ParseName[perdure.Effect]("--effect", effect.value)
		if err != nil {
			return perdure.Invalid(err)
		}
		if err := p.check(c, ""); err != nil {
			return err
		}
		return p.lines(c, 1, func(int) (*bench.Figures, error) {
			bar := term.NewProgress(c.ErrOrStderr(), "steps", int64(*agents**steps))
			defer bar.End()
			set := bench.Steps{Agents: *agents, Steps: *steps, Payload: *payload, Effect: class, Dir: p.Dir}
			set.Done = func(n int) { bar.To(int64(n)) }
			return set.Run(c.Context(), p.Open)
		})
	}
	return c
}

func benchDurableCommand() *cobra.Command {
	c := command("bench durable", cobra.NoArgs)
	p := benchFlags(c).syncFlag(c)
	var one bench.Durable
	all := bench.Contest{Place: &p.Place}
	c.Flags().IntVar(&one.Agents, "agents", 1, "agents at work at once")
	c.Flags().IntVar(&one.Steps, "steps", 2000, "steps of each agent")
	c.Flags().IntVar(&one.Payload, "payload", 1024, "bytes each step returns")
	c.Flags().IntVar(&all.Rounds, "rounds", 3, "runs of each line")
	c.Flags().StringVar(&all.Peer, "peer", "", "a program to measure beside this one")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := atLeastOne(c, "agents", one.Agents, "steps", one.Steps, "rounds", all.Rounds); err != nil {
			return err
		}
		if err := payloadFits(c, one.Payload); err != nil {
			return err
		}
		single := c.Flags().Changed("agents") || c.Flags().Changed("steps") || c.Flags().Changed("sync")
		if single && all.Peer != "" {
			return perdure.Invalid(errors.New("--peer is measured with the settings of all lines: leave out --agents, --steps and --sync"))
		}
		if err := p.check(c, ""); err != nil {
			return err
		}
		if single || p.InMemory() {
			return p.lines(c, 1, func(int) (*bench.Figures, error) {
				one.Dir = p.Dir
				return one.Run(c.Context(), p.Open)
			})
		}
		var bar *term.Progress
		all.Payload, all.Done = one.Payload, func(n, of int) {
			if bar == nil {
				bar = term.NewProgress(c.ErrOrStderr(), "runs", int64(of))
			}
			bar.To(int64(n))
		}
		run, err := all.Run(c.Context())
		if err != nil {
			return err
		}
		bar.End()
		return benchReport(c, run)
	}
	return c
}

func benchResumeCommand() *cobra.Command {
	c := command("bench resume", cobra.NoArgs)
	p := benchFlags(c)
	histories := c.Flags().IntSlice("history", []int{100, 1000, 5000}, "steps in the agent's past; each number is one line")
	payload := c.Flags().Int("payload", 1024, "bytes each step returns")
	role := c.Flags().String("role", "", "which process this is")
	agent := c.Flags().String("agent", "", "the agent to go on with")
	for _, hidden := range []string{"role", "agent"} {
		if err := c.Flags().MarkHidden(hidden); err != nil {
			panic(err) // the flag was added above
		}
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*histories) == 0 {
			return perdure.Invalid(errors.New("--history: name at least one number"))
		}
		for _, n := range *histories {
			if err := atLeastOne(c, "history", n); err != nil {
				return err
			}
		}
		if err := payloadFits(c, *payload); err != nil {
			return err
		}
		if err := p.check(c, "a store in memory dies with its process"); err != nil {
			return err
		}
		if *role != "" {
			p.Dir = p.Folder
			part := bench.Kills{History: (*histories)[0], Payload: *payload}
			return part.Part(c.Context(), &p.Place, *role, *agent, c.OutOrStdout())
		}
		return p.lines(c, len(*histories), func(i int) (*bench.Figures, error) {
			return bench.Kills{History: (*histories)[i], Payload: *payload}.Run(c.Context(), &p.Place)
		})
	}
	return c
}

func benchDormantCommand() *cobra.Command {
	c := command("bench dormant", cobra.NoArgs)
	p := benchFlags(c)
	agents := c.Flags().Int("agents", 10_000, "number of dormant agents")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := atLeastOne(c, "agents", *agents); err != nil {
			return err
		}
		if err := p.check(c, "a store in memory is not there for a new process"); err != nil {
			return err
		}
		return p.lines(c, 1, func(int) (*bench.Figures, error) {
			bar := term.NewProgress(c.ErrOrStderr(), "agents", int64(*agents))
			defer bar.End()
			set := bench.Dormant{Agents: *agents, Dir: p.Dir, Done: func(n int) { bar.To(int64(n)) }}
			return set.Run(c.Context(), p.Open)
		})
	}
	return c
}

// appendTotal is about how many appends each line of the append benchmark makes.
const appendTotal = 20_000

// wideAgents is how many agents the appends are spread over with --wide.
const wideAgents = 100_000

func benchAppendCommand() *cobra.Command {
	c := command("bench append", cobra.NoArgs)
	p := benchFlags(c).syncFlag(c)
	writers := c.Flags().IntSlice("writers", []int{1, 16, 256}, "writers at once; each number is one line")
	each := c.Flags().Int("each", 0, fmt.Sprintf("appends of each writer (default: about %d in all)", appendTotal))
	payload := c.Flags().Int("payload", 1024, "bytes of data in each entry")
	wide := c.Flags().Bool("wide", false, fmt.Sprintf("spread the appends over %d agents", wideAgents))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*writers) == 0 {
			return perdure.Invalid(errors.New("--writers: name at least one number"))
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
		if err := p.check(c, ""); err != nil {
			return err
		}
		return p.lines(c, len(*writers), func(i int) (*bench.Figures, error) {
			n := (*writers)[i]
			set := bench.Appends{Writers: n, Each: *each, Payload: *payload, Dir: p.Dir, Sync: p.Sync.String()}
			if set.Each == 0 {
				set.Each = max(appendTotal/n, 20)
			}
			if *wide {
				set.Agents = wideAgents
			}
			raw := ""
			if !p.InMemory() {
				raw = filepath.Join(p.Dir, "raw.db")
			}
			return set.Run(c.Context(), p.Open, raw)
		})
	}
	return c
}
