package perdure_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// delegating is a node whose agents, if they are nobody's children, delegate into scopes, and end when all have.
func delegating(t *testing.T, s perdure.Store, result perdure.Data, scopes ...string) *perdure.Node {
	t.Helper()
	return newNode(t, s, scripted(func(a *perdure.Agent, turn int64) (acts []perdure.Action) {
		switch {
		case a.Fold().Lineage != nil:
			return []perdure.Action{perdure.End{Signal: perdure.OK, Result: result, Note: "heron"}}
		case turn == 0:
			for _, scope := range scopes {
				acts = append(acts, perdure.Delegate{Intent: perdure.Intent{Goal: "part"}, Scope: scope})
			}
			return append(acts, perdure.Sleep{Trigger: perdure.When{Condition: "children.open == 0"}})
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}))
}

// A child is in its parent's scope or below it, and in no other.
func TestAChildIsInTheScopeOfItsParent(t *testing.T) {
	for scope, want := range map[string]string{"": "acme/ops", "acme/ops": "acme/ops",
		"acme/ops/night": "acme/ops/night", "acme": "", "acme/opsx": "", "acme/op": "", "acme/sales": "", "other": "",
		perdure.NoScope: ""} {
		t.Run(scope, func(t *testing.T) {
			s := new(perdure.MemStore)
			n := delegating(t, s, perdure.Data{}, scope)
			parent := create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: "acme/ops", Depth: 1}})
			run(t, n, parent)
			f := load(t, s, parent)
			if want == "" {
				if len(f.Children) != 0 {
					t.Fatalf("a child in %s came of an agent in acme/ops", scope)
				}
				return
			}
			if len(f.Children) != 1 {
				t.Fatalf("got %d children, want one", len(f.Children))
			}
			if got := load(t, s, f.Children[0].Agent).Charter.Scope; got != want {
				t.Errorf("the child is in %s, want %s", got, want)
			}
		})
	}
}

// What a child came to is told to its parent as long as the child is in its parent's scope. Who reads a parent that has
// moved into a narrower scope may not be in the child's.
func TestAChildsResultStaysInItsScope(t *testing.T) {
	secret, err := perdure.DataOf("zeppelin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		child, moved string // moved: where the parent goes meanwhile
		told         bool
	}{{"acme/ops", "", true}, {"acme", "", true}, {"acme/ops", "acme/ops", true}, {"acme/ops/night", "acme/ops", true},
		{"acme/ops", "acme/sales", false}, {"acme", "acme/sales", false}} {
		t.Run(c.child+" "+c.moved, func(t *testing.T) {
			s := new(perdure.MemStore)
			n := delegating(t, s, secret, c.child)
			parent := create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: "acme", Depth: 1}})
			run(t, n, parent)
			child := load(t, s, parent).Children[0].Agent
			if c.moved != "" {
				if _, err := n.Edit(t.Context(), parent, perdure.Mutate{Scope: &c.moved}, nil); err != nil {
					t.Fatal(err)
				}
			}
			run(t, n, child)
			f := load(t, s, parent)
			if !f.Children[0].Ended {
				t.Fatal("the parent was not told that its child has ended")
			}
			told := strings.Contains(memoryText(t, s, parent), "zeppelin")
			if told != c.told || strings.Contains(memoryText(t, s, parent), "heron") != c.told {
				t.Errorf("the parent in %s was told what its child in %s came to: %v, want %v", f.Charter.Scope,
					c.child, told, c.told)
			}
			if run(t, n, parent); load(t, s, parent).Ended == nil {
				t.Error("the parent waits for a child that has ended")
			}
		})
	}
}

// memoryText is all there is of an agent, as text.
func memoryText(t *testing.T, s perdure.Store, id perdure.AgentID) string {
	t.Helper()
	var b strings.Builder
	for e, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := e.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}
