// Command deploy is an agent that builds, asks a person, and deploys what the person approved. No process waits for the answer, which is bound to
// exactly this deployment and can be used once.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/examples/internal/demo"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
)

//go:embed deploy.yaml
var turns string

func main() {
	approve := flag.Bool("approve", true, "what the person says")
	demo.Main(func(ctx context.Context, store perdure.Store, out io.Writer) error {
		return run(ctx, store, out, *approve)
	})
}

func run(ctx context.Context, store perdure.Store, out io.Writer, approve bool) error {
	machine, err := perdure.GenerateSigner("builder")
	if err != nil {
		return err
	}
	person, err := perdure.GenerateSigner("ada")
	if err != nil {
		return err
	}
	node, err := newNode(store, machine, out)
	if err != nil {
		return err
	}
	inputs, err := perdure.DataOf(map[string]any{"version": "v2"})
	if err != nil {
		return err
	}
	a, err := node.Create(ctx, perdure.Genesis{
		Intent:  perdure.Intent{Name: "deploy v2", Goal: "deploy v2", Inputs: inputs},
		Charter: perdure.Charter{Scope: "shop/deploy", Approvers: []perdure.Key{person.Key()}},
	})
	if err != nil {
		return err
	}
	idle, err := node.RunAgent(ctx, a.ID())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the node has nothing to do: a person must act is %t\n", idle.Person)
	if err := answer(ctx, store, person, a.ID(), approve, out); err != nil { // anywhere, at any time
		return err
	}
	if node, err = newNode(store, machine, out); err != nil { // another process, a day later
		return err
	}
	if a, err = demo.Until(ctx, node, a.ID(), demo.Ended); err != nil {
		return err
	}
	fmt.Fprintf(out, "it has ended, %s: %s\n", a.Fold().Ended.Signal, a.Fold().Ended.Note)
	return nil
}

// answer answers every question of an agent, as a person with a key of their own.
func answer(ctx context.Context, store perdure.Store, person *perdure.Signer, id perdure.AgentID, approve bool, out io.Writer) error {
	a, err := perdure.Load(ctx, store, id)
	if err != nil {
		return err
	}
	for _, q := range a.Fold().Asks {
		x, _ := q.Action.(perdure.Execute)
		fmt.Fprintf(out, "ada is asked: may it %s %s? because %s\n", x.Tool, x.Args.JSON(), q.Verdict.Reason)
		said := perdure.Approval{Decision: q.Decision, Digest: q.Digest, Approve: approve}
		desk := &perdure.Node{Store: store, Key: person} // a node that only tells
		if _, err := desk.Tell(ctx, id, perdure.Event{Name: "approval", By: "ada", Notice: said}); err != nil {
			return err
		}
	}
	return nil
}

func newNode(store perdure.Store, key *perdure.Signer, out io.Writer) (*perdure.Node, error) {
	said, err := script.Load(strings.NewReader(turns))
	if err != nil {
		return nil, err
	}
	said.Store = store // for results of long ago
	type source struct {
		Version string `json:"version"`
	}
	type image struct {
		Image string `json:"image"`
	}
	build := tool.Func("build", "builds a version; the same version gives the same image", perdure.Read, func(_ context.Context, _ perdure.Call, s source) (image, error) {
		fmt.Fprintf(out, "  build %s\n", s.Version)
		return image{Image: "shop:" + s.Version}, nil
	})
	deploy := tool.Func("deploy", "puts an image into production", perdure.Once, func(_ context.Context, _ perdure.Call, i image) (string, error) {
		fmt.Fprintf(out, "  deploy %s\n", i.Image)
		return i.Image + " is live", nil
	})
	rules := policy.Default() // reads are allowed, writes ask
	return &perdure.Node{
		Store: store, Key: key, Policy: rules, PolicyHash: rules.Hash(), Tools: []perdure.Tool{build, deploy},
		Advisors: map[string]perdure.Advisor{"": said},
	}, nil
}
