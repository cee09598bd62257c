package remote_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// echo is a tool that returns its arguments, or fails if they say so, and counts its calls.
type echo struct {
	mu    sync.Mutex
	calls []string
	set   map[string]perdure.Data
}

func (*echo) Spec() perdure.Spec { return perdure.Spec{Name: "echo", Effect: perdure.Read} }

func (e *echo) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	e.mu.Lock()
	e.calls = append(e.calls, string(c.Args.JSON()))
	e.mu.Unlock()
	if m, ok := c.Args.Value().(map[string]any); ok && m["fail"] == true {
		return perdure.Result{}, errors.New("told to fail")
	}
	return perdure.Result{Data: c.Args, Set: e.set}, nil
}

// allow permits everything.
func allow(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
	return perdure.Verdict{Answer: perdure.Allow}
}

// nodeKey is the key of every node here: a process that is started again has the key it had.
var nodeKey = sync.OnceValues(func() (*perdure.Signer, error) { return perdure.GenerateSigner("node") })

func newNode(t testing.TB, s perdure.Store, adv perdure.Advisor, tools ...perdure.Tool) *perdure.Node {
	t.Helper()
	key, err := nodeKey()
	if err != nil {
		t.Fatal(err)
	}
	return &perdure.Node{Store: s, Key: key, Tools: tools, Advisors: map[string]perdure.Advisor{"": adv},
		Policy: perdure.PolicyFunc(allow)}
}

func create(t testing.TB, n *perdure.Node, inputs any) perdure.AgentID {
	t.Helper()
	in, err := perdure.DataOf(inputs)
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Create(t.Context(), perdure.Genesis{
		Intent: perdure.Intent{Goal: "try", Inputs: in}, Charter: perdure.Charter{Scope: "test", Owner: n.Key.Key(),
			Depth: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

func load(t testing.TB, n *perdure.Node, id perdure.AgentID) *perdure.Agent {
	t.Helper()
	a, err := perdure.Load(t.Context(), n.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

type forbidden struct{}

func (forbidden) Spec() perdure.Spec { return perdure.Spec{Name: "forbidden", Effect: perdure.Once} }

func (forbidden) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{}, errors.New("called")
}

// ended checks how an agent ended.
func ended(t testing.TB, a *perdure.Agent, signal perdure.Signal, result string, note ...string) {
	t.Helper()
	end := a.Fold().Ended
	if end == nil {
		t.Fatal("the agent has not ended")
	}
	if end.Signal != signal || string(end.Result.JSON()) != result {
		t.Errorf("got %s, %s (%s), want %s, %s", end.Signal, end.Result.JSON(), end.Note, signal, result)
	}
	for _, part := range note {
		if !strings.Contains(end.Note, part) {
			t.Errorf("got note %q, want %q in it", end.Note, part)
		}
	}
}
