// Command deploy is an agent that builds, asks a person, and deploys what the person approved. No process waits for the
// answer, which is bound to exactly this deployment and can be used once.
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
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/tool"
)

//go:embed deploy.yaml
var turns string

func main() {
	file := flag.String("store", "", "keep the agents in this SQLite file (default: in memory)")
	approve := flag.Bool("approve", true, "what the person says")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := open(ctx, *file)
	if err == nil {
		err = errors.Join(run(ctx, store, os.Stdout, *approve), store.Close())
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
	if _, err := node.RunAgent(ctx, a.ID()); err != nil {
		return err
	}
	if a, err = node.Load(ctx, a.ID()); err != nil {
		return err
	}
	if a.Fold().Ended == nil {
		return fmt.Errorf("it has not ended, it is %s", a.Standing(nil, perdure.Place{}, time.Now()))
	}
	fmt.Fprintf(out, "it has ended, %s: %s\n", a.Fold().Ended.Signal, a.Fold().Ended.Note)
	return nil
}

// answer answers every question of an agent, as a person with a key of their own.
func answer(
	ctx context.Context, store perdure.Store, person *perdure.Signer, id perdure.AgentID, approve bool, out io.Writer,
) error {
	a, err := perdure.Load(ctx, store, id)
	if err != nil {
		return err
	}
	desk := &perdure.Node{Store: store, Key: person} // a node that only tells
	for _, q := range a.Fold().Asks {
		x, _ := q.Action.(perdure.Execute)
		fmt.Fprintf(out, "ada is asked: may it %s %s? because %s\n", x.Tool, x.Args.JSON(), q.Verdict.Reason)
		if approve {
			_, err = desk.Approve(ctx, id, q.Digest, 0, "")
		} else {
			_, err = desk.Deny(ctx, id, q.Digest, "")
		}
		if err != nil {
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
	build := tool.Func("build", "builds a version; the same version gives the same image", perdure.Read,
		func(_ context.Context, _ perdure.Call, s source) (image, error) {
			fmt.Fprintf(out, "  build %s\n", s.Version)
			return image{Image: "shop:" + s.Version}, nil
		})
	deploy := tool.Func("deploy", "puts an image into production", perdure.Once,
		func(_ context.Context, _ perdure.Call, i image) (string, error) {
			fmt.Fprintf(out, "  deploy %s\n", i.Image)
			return i.Image + " is live", nil
		})
	rules := policy.Default() // reads are allowed, writes ask
	return &perdure.Node{
		Store: store, Key: key, Policy: rules, PolicyHash: rules.Hash(), Tools: []perdure.Tool{build, deploy},
		Advisors: map[string]perdure.Advisor{"": said},
	}, nil
}
