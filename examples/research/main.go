// Command research is an agent that works for hours and is in no process for most of them: it looks, keeps a note, sleeps, and goes on in whatever
// process is there when it wakes.
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
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/examples/internal/demo"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
)

//go:embed research.yaml
var script string

//go:embed research.cedar
var rules []byte

func main() {
	hour := flag.Duration("hour", 2*time.Second, "how long an hour takes")
	demo.Main(func(ctx context.Context, store perdure.Store, out io.Writer) error {
		return run(ctx, store, out, *hour)
	})
}

func run(ctx context.Context, store perdure.Store, out io.Writer, hour time.Duration) error {
	key, err := perdure.GenerateSigner("researcher")
	if err != nil {
		return err
	}
	node, err := newNode(store, key, out, hour)
	if err != nil {
		return err
	}
	inputs, err := perdure.DataOf(map[string]any{"topic": "tardigrades"})
	if err != nil {
		return err
	}
	a, err := node.Create(ctx, perdure.Genesis{
		Intent:  perdure.Intent{Name: "tardigrades", Goal: "find out what is new about tardigrades", Inputs: inputs},
		Charter: perdure.Charter{Scope: "research"},
	})
	if err != nil {
		return err
	}
	for process := 1; ; process++ {
		if node, err = newNode(store, key, out, hour); err != nil { // knows nothing of the one before
			return err
		}
		idle, err := node.RunAgent(ctx, a.ID())
		if err != nil {
			return err
		}
		if a, err = perdure.Load(ctx, store, a.ID()); err != nil {
			return err
		}
		if end := a.Fold().Ended; end != nil {
			fmt.Fprintf(out, "process %d: it has ended, %s: %s\n", process, end.Note, end.Result.JSON())
			return nil
		}
		fmt.Fprintf(out, "process %d: it is %s after %d entries, and this process can go\n", process, a.Fold().Standing(), a.Fold().Count)
		if err := demo.Sleep(ctx, idle.Until.Go()); err != nil {
			return err
		}
	}
}

// newNode is all there is in a process.
func newNode(store perdure.Store, key *perdure.Signer, out io.Writer, hour time.Duration) (*perdure.Node, error) {
	said, err := advisor.LoadScript(strings.NewReader(strings.ReplaceAll(script, "1h", hour.String())))
	if err != nil {
		return nil, err
	}
	said.Store = store // for results of long ago
	set, err := policy.Parse(policy.File{Name: "research.cedar", Text: rules})
	if err != nil {
		return nil, err
	}
	type query struct {
		Topic string `json:"topic"`
		Page  int    `json:"page"`
	}
	type found struct {
		Finding string `json:"finding"`
	}
	search := tool.Func("search", "searches the literature", perdure.Read, func(_ context.Context, _ perdure.Call, q query) (found, error) {
		fmt.Fprintf(out, "  search for %s, page %d\n", q.Topic, q.Page)
		return found{Finding: fmt.Sprintf("%s, finding %d", q.Topic, q.Page)}, nil
	})
	return &perdure.Node{
		Store: store, Key: key, Policy: set, PolicyHash: set.Hash(),
		Tools:    append(tool.Builtins(store), search),
		Advisors: map[string]perdure.Advisor{"": said},
	}, nil
}
