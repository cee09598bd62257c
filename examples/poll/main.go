// Command poll is an agent that starts a job elsewhere and sleeps until it is done: a tool is asked every so often, and a condition over its
// result wakes the agent.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/examples/internal/demo"
	"github.com/perdure/perdure/tool"
)

//go:embed poll.yaml
var turns string

func main() {
	interval := flag.Duration("interval", time.Second, "the time between two polls")
	demo.Main(func(ctx context.Context, store perdure.Store, out io.Writer) error {
		return run(ctx, store, out, *interval, 3)
	})
}

// run runs the agent, whose job is done when it has been asked for so many times.
func run(ctx context.Context, store perdure.Store, out io.Writer, interval time.Duration, polls int) error {
	key, err := perdure.GenerateSigner("poller")
	if err != nil {
		return err
	}
	said, err := script.Load(strings.NewReader(strings.ReplaceAll(turns, "10s", interval.String())))
	if err != nil {
		return err
	}
	said.Store = store // for results of long ago
	allow := func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Allow}
	}
	node := &perdure.Node{
		Store: store, Key: key, Policy: perdure.PolicyFunc(allow), Tools: jobs(out, polls), Advisors: map[string]perdure.Advisor{"": said},
	}
	inputs, err := perdure.DataOf(map[string]any{"name": "report"})
	if err != nil {
		return err
	}
	a, err := node.Create(ctx, perdure.Genesis{
		Intent:  perdure.Intent{Name: "report", Goal: "have the report made", Inputs: inputs},
		Charter: perdure.Charter{Scope: "reports"},
	})
	if err != nil {
		return err
	}
	if a, err = demo.Until(ctx, node, a.ID(), demo.Ended); err != nil {
		return err
	}
	end := a.Fold().Ended
	fmt.Fprintf(out, "it has ended, %s: %s%s; the advisor was asked %d times\n", end.Signal, end.Result.JSON(), end.Note, a.Fold().Turns)
	return nil
}

// jobs are the tools of a service that makes reports.
func jobs(out io.Writer, polls int) []perdure.Tool {
	type job struct {
		Name string `json:"name"`
	}
	type status struct {
		State string `json:"state"`
		URL   string `json:"url,omitempty"`
	}
	asked := 0
	return []perdure.Tool{
		tool.Func("job.start", "starts a job; the same key starts it once", perdure.Idempotent, func(_ context.Context, _ perdure.Call, j job) (status, error) {
			fmt.Fprintf(out, "  %s is started\n", j.Name)
			return status{State: "running"}, nil
		}),
		tool.Func("job.status", "says how a job is doing", perdure.Read, func(_ context.Context, _ perdure.Call, j job) (status, error) {
			if asked++; asked < polls {
				fmt.Fprintf(out, "  %s is running\n", j.Name)
				return status{State: "running"}, nil
			}
			fmt.Fprintf(out, "  %s is done\n", j.Name)
			return status{State: "done", URL: "https://reports.example/" + j.Name}, nil
		}),
	}
}
