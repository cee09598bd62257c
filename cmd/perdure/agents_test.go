package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/sqlite"
)

// bank is a tool that is done once. Called with hang it never answers.
type bank struct{}

func (bank) Spec() perdure.Spec { return perdure.Spec{Name: "bank.pay", Effect: perdure.Once} }

func (bank) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	if m, ok := c.Args.Value().(map[string]any); ok && m["hang"] == true {
		<-ctx.Done()
		return perdure.Result{}, ctx.Err()
	}
	return perdure.Result{Data: c.Args, Set: map[string]perdure.Data{"paid": c.Args}}, nil
}

// sampleAgents are agents in every standing people meet, by name: what their advisor proposes turn by turn.
func sampleAgents(t *testing.T) map[string][]perdure.Action {
	data := func(v any) perdure.Data {
		d, err := perdure.DataOf(v)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	pay := perdure.Execute{Tool: "bank.pay", Args: data(map[string]any{"cents": 500})}
	return map[string][]perdure.Action{
		"asker":   {perdure.Execute{Tool: "bank.pay", Args: data(map[string]any{"ask": true, "cents": 900})}},
		"doubter": {perdure.Execute{Tool: "bank.pay", Args: data(map[string]any{"hang": true}), Deadline: 500}},
		"sleeper": {perdure.Sleep{Trigger: perdure.On{Event: "go"}, Note: "nothing to do"}},
		"done":    {pay, perdure.End{Signal: perdure.OK, Result: data("fine"), Note: "all paid"}},
	}
}

// writeAgents makes a home folder with the sample agents in it: agents HOME.
func writeAgents(ts *testscript.TestScript, t *testing.T, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: agents HOME")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	key, err := perdure.GenerateSigner("tester")
	ts.Check(err)
	ts.Check(keyfile.Write(filepath.Join(dir, home.KeyFile), key))
	ts.Check(os.WriteFile(filepath.Join(dir, home.TrustFile), []byte(key.VerifierKey()+" own *\n"), 0o600))
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(dir, home.StoreFile), sqlite.Options{})
	ts.Check(err)
	scripts := sampleAgents(t)
	n := &perdure.Node{Store: store, Key: key, Tools: []perdure.Tool{bank{}},
		Policy: perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			if x, ok := r.Action.(perdure.Execute); ok && r.Approvals == 0 {
				if m, ok := x.Args.Value().(map[string]any); ok && m["ask"] == true {
					return perdure.Verdict{Answer: perdure.Ask, Rules: []string{"test.ask"}, Asked: []string{"owner"}}
				}
			}
			return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test.allow"}}
		}),
		Advisors: map[string]perdure.Advisor{"test": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				script, turn := scripts[a.Fold().Intent.Name], a.Fold().Turns
				if turn >= int64(len(script)) {
					return perdure.Advice{}, errors.New("the script is over")
				}
				return perdure.Advice{Actions: []perdure.Action{script[turn]}}, nil
			})}}
	calls := int64(10)
	for name := range scripts {
		a, err := n.Create(ctx, perdure.Genesis{
			Intent: perdure.Intent{Name: name, Goal: "be " + name, Advisor: "test",
				Budget: &perdure.Budget{Calls: &calls}},
			Charter: perdure.Charter{Scope: "test/" + name},
		})
		ts.Check(err)
		_, err = n.RunAgent(ctx, a.ID())
		ts.Check(err)
	}
	ts.Check(store.Close())
}
