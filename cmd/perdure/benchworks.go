package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
	"github.com/perdure/perdure/view"
)

func benchStepsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "steps [flags]",
		Short: "Measure durable steps of running agents",
		Long: `Steps runs agents that do nothing but steps: an advice, a decision and an outcome with a result of --payload bytes, durable before the
next step begins. Agents at work at the same time share commits.`,
		Example: `  perdure bench steps
  perdure bench steps --agents 64 --steps 50 --effect once
  perdure bench steps --store /srv --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
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
			bar := newProgress(c, "steps", int64(*agents**steps))
			defer bar.end()
			set := bench.Steps{Agents: *agents, Steps: *steps, Payload: *payload, Effect: class, Dir: p.Dir}
			set.Done = func(n int) { bar.to(int64(n)) }
			return set.Run(c.Context(), p.Open)
		})
	}
	return c
}

func benchDurableCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "durable [flags]",
		Short: "Measure functions of package durable against plain steps and another system",
		Long: `Durable measures functions that do nothing but steps, from their start to their result. As it comes it measures one agent with many
steps, one with few, so that what a fresh process costs counts, and 64 agents at once; each at both levels of durability, each
beside perdure bench steps with the same settings. Each figure is the median of some runs, which take turns; each run is a process
of its own. With --agents, --steps or --sync it measures just that, in this process.

A peer is a program that takes --agents N --steps N --payload N --sync LEVEL --store FOLDER --json and prints figures as this command
does with --json: it takes its turn with the others. One for DBOS Transact is in internal/dev/bench/dbos.`,
		Example: `  perdure bench durable
  perdure bench durable --agents 64 --steps 200 --sync normal
  perdure bench durable --peer ./dbos --rounds 5 --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
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
		var bar *progress
		all.Payload, all.Done = one.Payload, func(n, of int) {
			if bar == nil {
				bar = newProgress(c, "runs", int64(of))
			}
			bar.to(int64(n))
		}
		run, err := all.Run(c.Context())
		if err != nil {
			return err
		}
		bar.end()
		return benchReport(c, run)
	}
	return c
}

func benchResumeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resume [flags]",
		Short: "Measure how fast an agent resumes after kill -9",
		Long: `Resume starts a process that gives an agent a history and goes on working, kills it with SIGKILL in the middle, and starts a new process:
how long from exec until the next step is durable, and how much of that went into opening the store and into loading the agent and
doing the step. Each history is resumed ` + strconv.Itoa(bench.ResumeRounds) + ` times, each time after another kill.`,
		Example: `  perdure bench resume
  perdure bench resume --history 100,5000,100000 --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
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
	c := &cobra.Command{
		Use:   "dormant [flags]",
		Short: "Measure starting dormant agents and finding those that are due",
		Long: `Dormant starts agents that go to sleep at once, opens the store again as a new process would, and looks for the next thousand that are
due. It measures what an agent that does nothing costs: time, disk and memory.`,
		Example: `  perdure bench dormant
  perdure bench dormant --agents 1000000 --store /srv`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
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
			bar := newProgress(c, "agents", int64(*agents))
			defer bar.end()
			set := bench.Dormant{Agents: *agents, Dir: p.Dir, Done: func(n int) { bar.to(int64(n)) }}
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
	c := &cobra.Command{
		Use:   "append [flags]",
		Short: "Measure appends to the store against raw SQLite",
		Long: `Append appends entries that were signed beforehand, from several writers at once, and then does the same with nothing but SQLite: one
table, one committer, the same pragmas, bytes of the same length. The ratio is what the store costs on top.`,
		Example: `  perdure bench append
  perdure bench append --writers 1,16 --each 500 --json
  perdure bench append --writers 256 --wide`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
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
