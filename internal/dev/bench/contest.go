package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/self"
	"github.com/perdure/perdure/store/sqlite"
)

// Contest measures durable functions beside plain steps and a peer, at both levels of durability, in processes of their
// own.
type Contest struct {
	Place   *Place
	Payload int    // bytes each step returns
	Rounds  int    // runs of each line, of which the median counts
	Peer    string // a program to measure as well; empty: none

	Done func(runs, of int)
}

// durableLines are what is measured: many steps of one agent, few from a fresh process, and many agents.
var durableLines = []Durable{{Agents: 1, Steps: 8000}, {Agents: 1, Steps: 2000}, {Agents: 64, Steps: 200}}

// contender is one program and workload on a line.
type contender struct {
	name string
	run  func(ctx context.Context, line Durable, level sqlite.Sync) (*Figures, error)
}

// Run measures every line at both levels.
func (d *Contest) Run(ctx context.Context) (Run, error) {
	contenders := []contender{{"durable", d.self("durable")},
		{"steps", d.self("steps", "--effect", perdure.Idempotent.String())}}
	if d.Peer != "" {
		contenders = append(contenders, contender{"peer", d.program})
	}
	var figures Run
	done, all := 0, len(durableLines)*2*len(contenders)*d.Rounds
	for _, line := range durableLines {
		line.Payload = d.Payload
		runs := make([][]*Figures, 2*len(contenders))
		for range d.Rounds {
			for i := range runs {
				who := contenders[i%len(contenders)]
				f, err := who.run(ctx, line, sqlite.Sync(i/len(contenders)))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", who.name, err)
				}
				runs[i] = append(runs[i], f)
				done++
				d.Done(done, all)
			}
		}
		figures = append(figures, medians(runs, len(contenders))...)
	}
	return figures, nil
}

// medians is the median of each contender's runs, at each level as many contenders as given: the first is held against
// the second. What they take of the processor is compared run by run: on a machine that others use it says more than
// the time does.
func medians(runs [][]*Figures, contenders int) []*Figures {
	var out []*Figures
	ratios := make([]float64, len(runs))
	for i := 0; i < len(runs); i += contenders {
		ratios[i] = cpuRatio(runs[i], runs[i+1])
	}
	for i, of := range runs {
		slices.SortFunc(of, func(a, b *Figures) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
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

// cpuRatio is the median of how many times the processor time the runs of one took that of another, in pairs that ran
// one after the other.
func cpuRatio(of, floor []*Figures) float64 {
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
func (d *Contest) self(workload string, flags ...string) func(context.Context, Durable, sqlite.Sync) (*Figures, error) {
	return func(ctx context.Context, line Durable, level sqlite.Sync) (*Figures, error) {
		return figuresOf(self.Command(ctx, slices.Concat([]string{"bench", workload}, flags, d.args(line, level))...))
	}
}

// program runs the peer.
func (d *Contest) program(ctx context.Context, line Durable, level sqlite.Sync) (*Figures, error) {
	return figuresOf(exec.CommandContext(ctx, d.Peer, d.args(line, level)...))
}

func (d *Contest) args(line Durable, level sqlite.Sync) []string {
	return []string{"--agents", strconv.Itoa(line.Agents), "--steps", strconv.Itoa(line.Steps), "--payload",
		strconv.Itoa(line.Payload),
		"--sync", level.String(), "--store", d.Place.under(), "--json"}
}

// figuresOf is the figures a process prints.
func figuresOf(cmd *exec.Cmd) (*Figures, error) {
	out, err := cmd.Output()
	if err != nil {
		return nil, self.Error(cmd.Path, err)
	}
	var f []*Figures
	if err := json.Unmarshal(out, &f); err != nil || len(f) != 1 {
		return nil, fmt.Errorf("want one figure, got %q: %w", out, err)
	}
	return f[0], nil
}
