package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bench"
	"github.com/perdure/perdure/store/sqlite"
)

func benchDurableCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "durable [flags]",
		Short: "Measure functions of package durable, beside plain steps and a peer",
		Long: `Durable measures functions that do nothing but steps, from their start to their result. As it comes it measures one agent with many
steps, one with few, so that what a fresh process costs counts, and 64 agents at once; each at both levels of durability, each
beside perdure bench steps with the same settings. Each figure is the median of some runs, which take turns; each run is a process
of its own. With --agents, --steps or --sync it measures just that, in this process.

A peer is a program that takes --agents N --steps N --payload N --sync LEVEL --store FOLDER --json and prints figures as this command
does with --json: it takes its turn with the others. One for DBOS Transact is in internal/bench/dbos.`,
		Example: `  perdure bench durable
  perdure bench durable --agents 64 --steps 200 --sync normal
  perdure bench durable --peer ./dbos --rounds 5 --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
	p := benchFlags(c).syncFlag()
	d := durableBench{p: p}
	c.Flags().IntVar(&d.one.Agents, "agents", 1, "agents at work at once")
	c.Flags().IntVar(&d.one.Steps, "steps", 2000, "steps of each agent")
	c.Flags().IntVar(&d.one.Payload, "payload", 1024, "bytes each step returns")
	c.Flags().IntVar(&d.rounds, "rounds", 3, "runs of each line")
	c.Flags().StringVar(&d.peer, "peer", "", "a program to measure beside this one")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := atLeastOne(c, "agents", d.one.Agents, "steps", d.one.Steps, "rounds", d.rounds); err != nil {
			return err
		}
		if err := payloadFits(c, d.one.Payload); err != nil {
			return err
		}
		single := c.Flags().Changed("agents") || c.Flags().Changed("steps") || c.Flags().Changed("sync")
		if single && d.peer != "" {
			return misuse(c, errors.New("--peer is measured with the settings of all lines: leave out --agents, --steps and --sync"))
		}
		if !single && !p.inMemory() {
			return d.all(c.Context())
		}
		return p.with(func() error {
			d.one.Dir = p.dir
			f, err := d.one.Run(c.Context(), p.open)
			if err != nil {
				return err
			}
			return p.report(f)
		})
	}
	return c
}

// durableBench measures durable functions in processes of their own.
type durableBench struct {
	p      *benchPlace
	one    bench.Durable
	rounds int
	peer   string
}

// durableLines are what is measured: many steps of one agent, few from a fresh process, and many agents.
var durableLines = []bench.Durable{{Agents: 1, Steps: 8000}, {Agents: 1, Steps: 2000}, {Agents: 64, Steps: 200}}

// contender is one program and workload on a line.
type contender struct {
	name string
	run  func(ctx context.Context, line bench.Durable, level sqlite.Sync) (*bench.Figures, error)
}

// all measures every line at both levels.
func (d *durableBench) all(ctx context.Context) error {
	contenders := []contender{{"durable", d.self("durable")}, {"steps", d.self("steps", "--effect", perdure.Idempotent.String())}}
	if d.peer != "" {
		contenders = append(contenders, contender{"peer", d.program})
	}
	var figures []*bench.Figures
	bar := newProgress(d.p.c, "runs", int64(len(durableLines)*2*len(contenders)*d.rounds))
	done := int64(0)
	for _, line := range durableLines {
		line.Payload = d.one.Payload
		runs := make([][]*bench.Figures, 2*len(contenders))
		for range d.rounds {
			for i := range runs {
				who := contenders[i%len(contenders)]
				f, err := who.run(ctx, line, sqlite.Sync(i/len(contenders)))
				if err != nil {
					return fmt.Errorf("%s: %w", who.name, err)
				}
				runs[i] = append(runs[i], f)
				done++
				bar.to(done)
			}
		}
		figures = append(figures, medians(runs, len(contenders))...)
	}
	bar.end()
	if jsonFlag(d.p.c) {
		return printJSON(d.p.c.OutOrStdout(), figures)
	}
	return writeFigures(d.p.c.OutOrStdout(), figures)
}

// medians is the median of each contender's runs, at each level as many contenders as given: the first is held against the second. What
// they take of the processor is compared run by run: on a machine that others use it says more than the time does.
func medians(runs [][]*bench.Figures, contenders int) []*bench.Figures {
	var out []*bench.Figures
	ratios := make([]float64, len(runs))
	for i := 0; i < len(runs); i += contenders {
		ratios[i] = cpuRatio(runs[i], runs[i+1])
	}
	for i, of := range runs {
		slices.SortFunc(of, func(a, b *bench.Figures) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
		f := of[len(of)/2]
		f.Settings["sync"] = sqlite.Sync(i / contenders).String()
		out = append(out, f)
	}
	for i := 0; i < len(out); i += contenders {
		out[i].Floor, out[i].FloorRate = "steps with the same settings", out[i+1].PerSecond
		out[i].Ratio, out[i].CPURatio = out[i].FloorRate/out[i].PerSecond, ratios[i]
	}
	return out
}

// cpuRatio is the median of how many times the processor time the runs of one took that of another, in pairs that ran one after the other.
func cpuRatio(of, floor []*bench.Figures) float64 {
	ratios := make([]float64, len(of))
	for i := range of {
		if floor[i].CPU > 0 {
			ratios[i] = of[i].CPU / floor[i].CPU
		}
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// self runs a benchmark of this program in a process of its own.
func (d *durableBench) self(workload string, flags ...string) func(context.Context, bench.Durable, sqlite.Sync) (*bench.Figures, error) {
	return func(ctx context.Context, line bench.Durable, level sqlite.Sync) (*bench.Figures, error) {
		args := slices.Concat([]string{"bench", workload}, flags, d.args(line, level))
		return figuresOf(self(ctx, args...))
	}
}

// program runs the peer.
func (d *durableBench) program(ctx context.Context, line bench.Durable, level sqlite.Sync) (*bench.Figures, error) {
	return figuresOf(exec.CommandContext(ctx, d.peer, d.args(line, level)...))
}

func (d *durableBench) args(line bench.Durable, level sqlite.Sync) []string {
	folder := *d.p.folder
	if folder == "" {
		folder = os.TempDir()
	}
	return []string{"--agents", strconv.Itoa(line.Agents), "--steps", strconv.Itoa(line.Steps), "--payload", strconv.Itoa(line.Payload),
		"--sync", level.String(), "--store", folder, "--json"}
}

// figuresOf is the figures a process prints.
func figuresOf(cmd *exec.Cmd) (*bench.Figures, error) {
	out, err := cmd.Output()
	if err != nil {
		return nil, childError(cmd.Path, err)
	}
	var f []*bench.Figures
	if err := json.Unmarshal(out, &f); err != nil || len(f) != 1 {
		return nil, fmt.Errorf("want one figure, got %q: %w", out, err)
	}
	return f[0], nil
}
