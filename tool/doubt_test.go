//go:build unix

package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// TestAnAgentIsInDoubtAfterAnEffectThatBrokeOff: whoever acts for the agent dies in the middle, the agent does not do
// it again, and a person settles it.
func TestAnAgentIsInDoubtAfterAnEffectThatBrokeOff(t *testing.T) {
	u, requests := broken(t, "")
	shell := anyShell(t)
	mcp := connected(t, stdio(t))
	post := httpTools(t, tool.HTTP{Allow: []string{u}, Loopback: true})("post")
	for _, c := range []struct {
		name string
		tool perdure.Tool
		args any
		done func() int // how often it was done, as the other side knows
	}{
		{"a server that died", named(t, mcp, "t.die"), nil, nil},
		{"a connection that broke", post, map[string]any{"url": u + "/", "text": "pay"}, func() int {
			return int(requests.Load())
		}},
		{"a command that was killed", shell, map[string]any{"script": "echo paid >>ledger; kill -9 $$"}, func() int {
			b, err := os.ReadFile(filepath.Join(shell.Dir, "ledger"))
			if err != nil {
				t.Error(err)
			}
			return strings.Count(string(b), "paid")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := nodeWith(t, c.tool, perdure.Execute{Tool: c.tool.Spec().Name, Args: data(t, c.args)})
			a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "pay"},
				Charter: perdure.Charter{Scope: "test"}})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // another run does not do it again
				idle, err := node.RunAgent(t.Context(), a.ID())
				if err != nil {
					t.Fatal(err)
				}
				if a, err = perdure.Load(t.Context(), node.Store, a.ID()); err != nil {
					t.Fatal(err)
				}
				if f := a.Fold(); !idle.Person || len(f.Open) != 1 || !f.Open[0].Doubt {
					t.Fatalf("idle %+v with open effects %+v, want doubt that a person settles", idle, f.Open)
				}
			}
			if c.done != nil && c.done() != 1 {
				t.Errorf("it was done %d times, want once", c.done())
			}
			settle := perdure.Settle{Decision: a.Fold().Open[0].Decision, Signal: perdure.OK, Note: "I looked"}
			if _, err := node.Tell(t.Context(), a.ID(), perdure.Event{Name: "settle", Notice: settle}); err != nil {
				t.Fatal(err)
			}
			if _, err := node.RunAgent(t.Context(), a.ID()); err != nil {
				t.Fatal(err)
			}
			if a, err = perdure.Load(t.Context(), node.Store, a.ID()); err != nil || a.Fold().Ended == nil {
				t.Errorf("ended %+v, %v, want it to go on once it is settled", a.Fold().Ended, err)
			}
		})
	}
}

// TestDoubtAtTheDeadlineSaysWhatIsKnown: the tool is cut off at the deadline of the decision, and what it knows of its
// effect is recorded.
func TestDoubtAtTheDeadlineSaysWhatIsKnown(t *testing.T) {
	shell := anyShell(t)
	node := nodeWith(t, shell, perdure.Execute{Tool: "shell",
		Args: data(t, map[string]any{"script": "echo half paid; exec sleep 600"}), Deadline: 1000})
	a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "pay"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	var why string
	for e, err := range perdure.Memory(t.Context(), node.Store, a.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.Name == "in-doubt" {
			why = string(ev.Data.JSON())
		}
	}
	if !strings.Contains(why, "half paid") {
		t.Errorf("the doubt is %q, want what the command had written", why)
	}
}
