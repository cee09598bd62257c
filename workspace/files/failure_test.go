package files

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// pump is a tool that fails, unless it is told to work.
type pump struct{}

func (pump) Spec() perdure.Spec { return perdure.Spec{Name: "pump", Effect: perdure.Idempotent} }

func (pump) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	if args, _ := c.Args.Value().(map[string]any); args["path"] == "dry.txt" {
		return perdure.Result{}, errors.New("the well is dry")
	}
	return perdure.Result{}, nil
}

// worker is an agent with notes of its own that has called tools.
func (w *world) worker(name string, paths ...string) *perdure.Agent {
	w.t.Helper()
	var acts []perdure.Action
	for _, path := range paths {
		args, err := perdure.DataOf(map[string]any{"path": path})
		if err != nil {
			w.t.Fatal(err)
		}
		acts = append(acts, perdure.Execute{Tool: "pump", Args: args})
	}
	n := &perdure.Node{Store: w.store, Key: w.keys[0], Trust: w.trust, Tools: []perdure.Tool{pump{}},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				if turn := int(a.Fold().Turns); turn < len(acts) {
					return perdure.Advice{Actions: acts[turn : turn+1]}, nil
				}
				return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
			})},
	}
	a, err := n.Create(w.t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "pump"},
		Charter: perdure.Charter{Scope: "home"}})
	if err == nil {
		_, err = n.RunAgent(w.t.Context(), a.ID())
	}
	if err == nil {
		a, err = n.Load(w.t.Context(), a.ID())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// Outcomes that failed, and records of errors, are in ERRORS.md, with the entries that say so. What worked is not.
func TestWhatFailedIsOnAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ann")
	p := w.person(0)
	p.sync()
	if got := p.texts()[errorsName]; !strings.Contains(got, noErrors) {
		t.Errorf("of nothing that failed:\n%s", got)
	}
	w.agent = w.worker("plumber", "wet.txt", "dry.txt")
	var failed *perdure.Entry
	for e, err := range perdure.Memory(t.Context(), w.store, w.agent.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := e.Content().(perdure.Outcome); ok && o.Signal == perdure.Failed {
			failed = e
		}
	}
	if failed == nil {
		t.Fatal("nothing failed")
	}
	p = w.person(0)
	at := time.Now().UTC().Format("20060102T150405Z")
	if _, err := p.Reader.Write(t.Context(), workspace.Draft{Path: "agents/plumber/errors/" + at + "-leak.md",
		Title: "It leaks", Tags: []string{"error"}, Text: "at the joint\n"}); err != nil {
		t.Fatal(err)
	}
	p.sync()
	got := p.texts()[errorsName]
	for _, want := range []string{" failed: ", "the well is dry", "(entry " + failed.Name.Short() + ")",
		"It leaks ([[agents/plumber/errors/"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, noErrors) || strings.Contains(got, "wet.txt") {
		t.Errorf("it says what is not so:\n%s", got)
	}
	p.still()
}
