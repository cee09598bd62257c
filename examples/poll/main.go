// Command poll is an agent that starts a job elsewhere and sleeps until it is done: a tool is polled at an interval,
// and a condition on its result wakes the agent.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/tool"
)

//go:embed poll.yaml
var turns string

func main() {
	file := flag.String("store", "", "keep the agents in this SQLite file (default: in memory)")
	interval := flag.Duration("interval", time.Second, "the time between two polls")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := open(ctx, *file)
	if err == nil {
		err = errors.Join(run(ctx, store, os.Stdout, *interval, 3), store.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open opens the store in a file, or one in memory if there is no file.
func open(ctx context.Context, file string) (perdure.Store, error) {
	if file == "" {
		return new(perdure.MemStore), nil
	}
	return sqlite.Open(ctx, file, sqlite.Options{})
}

// run runs the agent. Its job is done when its status has been asked for polls times.
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
		Store: store, Key: key, Policy: perdure.PolicyFunc(allow), Tools: jobs(out, polls),
		Advisors: map[string]perdure.Advisor{"": said},
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
	if a, err = finish(ctx, node, a.ID()); err != nil {
		return err
	}
	end := a.Fold().Ended
	fmt.Fprintf(out, "it has ended, %s: %s%s; the advisor was asked %d times\n",
		end.Signal, end.Result.JSON(), end.Note, a.Fold().Turns)
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
		tool.Func("job.start", "starts a job; the same key starts it once", perdure.Idempotent,
			func(_ context.Context, _ perdure.Call, j job) (status, error) {
				fmt.Fprintf(out, "  %s is started\n", j.Name)
				return status{State: "running"}, nil
			}),
		tool.Func("job.status", "says how a job is doing", perdure.Read,
			func(_ context.Context, _ perdure.Call, j job) (status, error) {
				if asked++; asked < polls {
					fmt.Fprintf(out, "  %s is running\n", j.Name)
					return status{State: "running"}, nil
				}
				fmt.Fprintf(out, "  %s is done\n", j.Name)
				return status{State: "done", URL: "https://reports.example/" + j.Name}, nil
			}),
	}
}

// finish runs a node until an agent has ended. A service would call Node.Run alone, which runs any number of agents.
func finish(ctx context.Context, node *perdure.Node, id perdure.AgentID) (*perdure.Agent, error) {
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() {
		defer stop()
		stopped <- node.Run(ctx)
	}()
	a, err := node.Ended(ctx, id)
	stop()
	return a, errors.Join(err, <-stopped)
}
