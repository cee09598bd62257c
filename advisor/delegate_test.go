package advisor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/internal/dev/wiretest"
)

// worker ends at once, well or not as its inputs say.
var worker = perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	in, _ := a.Fold().Intent.Inputs.Value().(map[string]any)
	end := perdure.End{Signal: perdure.OK, Note: "did " + a.Fold().Intent.Name}
	if in["fail"] == true {
		end.Signal = perdure.Failed
	}
	return perdure.Advice{Actions: []perdure.Action{end}}, nil
})

func delegation(name string, fail bool) wiretest.Call {
	return wiretest.Call{ID: "d_" + name, Name: "delegate", Args: []string{fmt.Sprintf(
		`{"goal":"do %s","name":"%s","advisor":"worker","inputs":{"fail":%v},"scope":"acme/part","budget":{"calls":2}}`,
		name, name, fail)}}
}

func waiting(args string) wiretest.Call {
	return wiretest.Call{ID: "w", Name: "wait", Args: []string{args}}
}

// TestModelWaitsForEnoughChildren: it delegates and waits in one reply, sleeps while its children work, and is asked
// again when enough have ended. When it ends, those that are left end with it.
func TestModelWaitsForEnoughChildren(t *testing.T) {
	for _, c := range []struct {
		enough string
		fails  []bool
		after  int // how many have to end
	}{
		{"all", []bool{false, true, false}, 3},
		{"any", []bool{true, false, false}, 2},
		{"quorum:2", []bool{false, true, false}, 3},
		{"quorum:2", []bool{true, true, false}, 2}, // fewer than two can still do it
		{"first-failure", []bool{false, true, false}, 2},
		{"first-failure", []bool{false, false, false}, 3},
	} {
		t.Run(fmt.Sprint(c.enough, c.fails), func(t *testing.T) {
			each(t, func(t *testing.T, p provider) {
				var calls []wiretest.Call
				for i, fail := range c.fails {
					calls = append(calls, delegation(fmt.Sprint("part", i), fail))
				}
				s := p.serve(t, wiretest.Turns(wiretest.Turn{Calls: append(calls,
					waiting(`{"children":"`+c.enough+`"}`)), In: 1, Out: 1}, done))
				w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
				w.hire()
				w.run()
				for n, child := range w.fold().Children {
					if f := w.fold(); n < c.after && (f.Ended != nil || len(s.Requests()) != 1 || f.Sleep == nil) {
						t.Fatalf("after %d of its children it ended %+v and asked %d times, want it to sleep", n,
							f.Ended, len(s.Requests()))
					}
					if n < c.after {
						if _, err := w.node.RunAgent(t.Context(), child.Agent); err != nil {
							t.Fatal(err)
						}
					}
					w.run()
				}
				if f := w.fold(); f.Ended == nil || f.Ended.Signal != perdure.OK {
					t.Fatalf("ended %+v, want ok after %d children", f.Ended, c.after)
				}
				if asked := fmt.Sprint(s.Requests()[1]); !strings.Contains(asked, "did part0") ||
					!strings.Contains(asked, "woke: of its children") {
					t.Errorf("the model is not told how its children ended: %s", asked)
				}
				w.checkChildren(c.after)
			})
		})
	}
}

// hire gives the world a node with workers.
func (w *world) hire() {
	n := w.node
	w.node = &perdure.Node{Store: n.Store, Key: n.Key, Policy: n.Policy, Tools: n.Tools,
		Advisors: map[string]perdure.Advisor{"": n.Advisors[""], "worker": worker}}
}

// checkChildren holds children against their parent: their bounds, their lineage, and the end of those that nobody
// waited for.
func (w *world) checkChildren(ended int) {
	w.t.Helper()
	parent := w.fold()
	for n, info := range parent.Children {
		a, err := perdure.Load(w.t.Context(), w.node.Store, info.Agent)
		if err != nil {
			w.t.Fatal(err)
		}
		f := a.Fold()
		if f.Charter.Scope != "acme/part" || *f.Intent.Budget.Calls != 2 || f.Charter.Depth != 0 {
			w.t.Errorf("child %d has %+v and %+v", n, f.Charter, f.Intent)
		}
		if f.Lineage == nil || f.Lineage.Parent != w.id || f.Ended == nil {
			w.t.Errorf("child %d has lineage %+v and ended %+v", n, f.Lineage, f.Ended)
			continue
		}
		if n < ended && info.Head != f.Ended.Entry {
			w.t.Errorf("the parent has head %s of child %d, which ended with %s", info.Head.Short(), n,
				f.Ended.Entry.Short())
		}
		if n >= ended && f.Ended.Note != "its parent has ended" {
			w.t.Errorf("child %d ended %+v, want it cancelled", n, f.Ended)
		}
	}
}

// TestChildrenThatEndedBeforeDoNotCount: a second fan-out is not over because of the first.
func TestChildrenThatEndedBeforeDoNotCount(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Calls: []wiretest.Call{delegation("first", false), waiting(`{"children":"all"}`)}, In: 1,
				Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{delegation("second", false), waiting(`{"children":"any"}`)}, In: 1,
				Out: 1},
			done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.hire()
		for n := range 2 {
			w.run()
			f := w.fold()
			if len(f.Children) != n+1 || f.Sleep == nil || f.Ended != nil {
				t.Fatalf("children %+v, sleep %+v, ended %+v; want it to wait for child %d", f.Children, f.Sleep,
					f.Ended, n+1)
			}
			if _, err := w.node.RunAgent(t.Context(), f.Children[n].Agent); err != nil {
				t.Fatal(err)
			}
		}
		w.run()
		if f := w.fold(); f.Ended == nil || f.Ended.Signal != perdure.OK {
			t.Errorf("ended %+v, want ok", f.Ended)
		}
		if got := fmt.Sprint(s.Requests()[2]); !strings.Contains(got, "any") {
			t.Errorf("the model does not see what it called: %s", got)
		}
	})
}

// TestModelCannotDelegateWithoutEnd: at the bottom of its charter's depth a model is not even offered it.
func TestModelCannotDelegateWithoutEnd(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		deep := wiretest.Call{ID: "d", Name: "delegate", Args: []string{`{"goal":"the same","depth":9}`}}
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Calls: []wiretest.Call{deep, waiting(`{"children":"all"}`)}, In: 1,
			Out: 1}, wiretest.Turn{Calls: []wiretest.Call{deep}, In: 1, Out: 1}, done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)}) // of depth 1
		w.run()
		parent := w.id
		w.id = w.fold().Children[0].Agent
		w.run()
		if f := w.fold(); f.Charter.Depth != 0 || len(f.Children) != 0 || f.Ended == nil {
			t.Errorf("the child has depth %d, children %+v and ended %+v; want none, and the end", f.Charter.Depth,
				f.Children, f.Ended)
		}
		if got := fmt.Sprint(s.Requests()[2]); !strings.Contains(got, `there is no tool "delegate"`) {
			t.Errorf("the model is not told that it cannot delegate: %s", got)
		}
		w.id = parent
		w.run()
		if f := w.fold(); f.Ended == nil || f.Ended.Signal != perdure.OK {
			t.Errorf("ended %+v, want ok", f.Ended)
		}
	})
}
