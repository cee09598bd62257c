package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// job is a piece of work for a child: how many minutes it takes, and whether it ends well.
type job struct {
	Minutes int
	Fails   bool
}

// work handles children that do jobs.
func work(n *perdure.Node) {
	durable.Handle(n, "work", func(r *durable.Run, j job) (int, error) {
		if err := durable.Sleep(r, time.Duration(j.Minutes)*time.Minute); err != nil {
			return 0, err
		}
		if j.Fails {
			return 0, errors.New("it did not work out")
		}
		return j.Minutes, nil
	})
}

func spawnAll(r *durable.Run, jobs []job) ([]*durable.Child, error) {
	var children []*durable.Child
	for _, j := range jobs {
		c, err := durable.Spawn(r, "work", j)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	return children, nil
}

// stood says how the children stood: their value, failed, or a dash.
func stood(ends []durable.Ended[int]) string {
	var out []string
	for _, e := range ends {
		var failed *durable.Error
		switch {
		case e.Done && e.Err == nil:
			out = append(out, fmt.Sprint(e.Value))
		case e.Done && errors.As(e.Err, &failed):
			out = append(out, failed.Signal.String())
		case !e.Done && errors.Is(e.Err, durable.ErrUnfinished):
			out = append(out, "-")
		default:
			out = append(out, fmt.Sprintf("?%v", e.Err))
		}
	}
	return strings.Join(out, " ")
}

func TestGatherHearsEnough(t *testing.T) {
	jobs := []job{{Minutes: 50}, {Minutes: 10}, {Minutes: 20, Fails: true}, {Minutes: 30}}
	bad := []job{{Minutes: 10, Fails: true}, {Minutes: 20, Fails: true}, {Minutes: 30}}
	for _, c := range []struct {
		name   string
		enough durable.Enough
		jobs   []job
		want   string
		after  time.Duration
	}{
		{"all", durable.All, jobs, "50 10 failed 30", 50 * time.Minute},
		{"any", durable.Any, jobs, "- 10 - -", 10 * time.Minute},
		{"quorum", durable.Quorum(2), jobs, "- 10 failed 30", 30 * time.Minute},
		{"first failure", durable.FirstFailure, jobs, "- 10 failed -", 20 * time.Minute},
		{"a quorum that cannot be", durable.Quorum(2), bad, "failed failed -", 20 * time.Minute},
		{"no failure", durable.FirstFailure, []job{{Minutes: 1}, {Minutes: 2}}, "1 2", 2 * time.Minute},
		{"none", durable.All, nil, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, new(perdure.MemStore))
				work(n)
				var heard time.Duration
				began := time.Now()
				durable.Handle(n, "lead", func(r *durable.Run, jobs []job) (string, error) {
					children, err := spawnAll(r, jobs)
					if err != nil {
						return "", err
					}
					ends, err := durable.Gather[int](r, c.enough, children...)
					heard = time.Since(began)
					return stood(ends), err
				})
				id := start(t, n, "lead", c.jobs)
				during(t, n, 2*time.Hour)
				if got, err := result[string](t, n.Store, id); err != nil || got != c.want {
					t.Errorf("got %q, %v, want %q", got, err, c.want)
				}
				if heard < c.after || heard > c.after+time.Minute {
					t.Errorf("it went on after %s, want %s", heard, c.after)
				}
			})
		})
	}
}

// TestWhatWasGatheredStays: a child that ends later has not ended for the function, whoever runs it again.
func TestWhatWasGatheredStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		var saw []string
		handle := func(n *perdure.Node) {
			work(n)
			durable.Handle(n, "lead", func(r *durable.Run, _ any) (string, error) {
				children, err := spawnAll(r, []job{{Minutes: 1}, {Minutes: 60}})
				if err != nil {
					return "", err
				}
				ends, err := durable.Gather[int](r, durable.Any, children...)
				if err != nil {
					return "", err
				}
				saw = append(saw, stood(ends))
				if err := durable.Sleep(r, 3*time.Hour); err != nil {
					return "", err
				}
				late, err := durable.Gather[int](r, durable.All, children...)
				return stood(ends) + " then " + stood(late), err
			})
		}
		n := newNode(t, store)
		handle(n)
		id := start(t, n, "lead", nil)
		during(t, n, 2*time.Hour)
		n = newNode(t, store) // another process
		handle(n)
		during(t, n, 2*time.Hour)
		if got, err := result[string](t, store, id); err != nil || got != "1 - then 1 60" {
			t.Errorf("got %q, %v", got, err)
		}
		if diff := cmp.Diff([]string{"1 -", "1 -"}, saw); diff != "" {
			t.Errorf("what each process saw (-want +got):\n%s", diff)
		}
	})
}

func TestTheRestIsCancelledAllTheWayDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		work(n)
		durable.Handle(n, "boss", func(r *durable.Run, _ any) (string, error) {
			c, err := durable.Spawn(r, "work", job{Minutes: 600})
			if err != nil {
				return "", err
			}
			_, err = durable.Wait[int](r, c)
			return "", err
		})
		durable.Handle(n, "lead", func(r *durable.Run, _ any) (string, error) {
			quick, err := durable.Spawn(r, "work", job{Minutes: 1})
			if err != nil {
				return "", err
			}
			slow, err := durable.Spawn(r, "boss", nil)
			if err != nil {
				return "", err
			}
			ends, err := durable.Gather[int](r, durable.Any, quick, slow)
			if err != nil {
				return "", err
			}
			if err := durable.Cancel(r, "the other was quicker", quick, slow); err != nil {
				return "", err
			}
			if _, err := durable.Wait[int](r, slow); err == nil {
				return "", errors.New("the cancelled child ended well")
			}
			return stood(ends), nil
		})
		id := start(t, n, "lead", nil)
		during(t, n, time.Hour)
		if got, err := result[string](t, store, id); err != nil || got != "1 -" {
			t.Errorf("got %q, %v", got, err)
		}
		lead := fold(t, store, id)
		boss := fold(t, store, lead.Children[1].Agent)
		for e, err := range perdure.Memory(t.Context(), store, lead.Children[0].Agent) {
			if ev, ok := e.Content().(perdure.Event); err != nil || ok && ev.Name == "cancel" {
				t.Errorf("the child that had ended was told %+v, %v", ev, err)
			}
		}
		if boss.Ended == nil || boss.Ended.Signal != perdure.Denied || boss.Ended.Note != "the other was quicker" {
			t.Errorf("the child ended %+v, want it cancelled", boss.Ended)
		}
		if grandchild := fold(t, store, boss.Children[0].Agent); grandchild.Ended == nil ||
			grandchild.Ended.Signal != perdure.Denied {
			t.Errorf("its child ended %+v, want it cancelled too", grandchild.Ended)
		}
	})
}

func fold(t *testing.T, s perdure.Store, id perdure.AgentID) *perdure.Fold {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return a.Fold()
}

// TestChildrenOutliveTheirParentsProcess: the process that runs the parent dies, one that knows nothing of the parent
// runs the children to their end, and the parent goes on with what they came to.
func TestChildrenOutliveTheirParentsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		runs := 0
		lead := func(n *perdure.Node) {
			durable.Handle(n, "lead", func(r *durable.Run, _ any) (string, error) {
				runs++
				children, err := spawnAll(r, []job{{Minutes: 5}, {Minutes: 6, Fails: true}})
				if err != nil {
					return "", err
				}
				ends, err := durable.Gather[int](r, durable.All, children...)
				return stood(ends), err
			})
		}
		first := newNode(t, store)
		lead(first)
		id := start(t, first, "lead", nil)
		ctx, die := context.WithTimeout(t.Context(), time.Second)
		defer die()
		if err := first.Run(ctx); err != nil {
			t.Fatal(err)
		}
		second := newNode(t, store)
		work(second)
		during(t, second, time.Hour)
		if f := fold(t, store, id); f.Ended != nil || len(f.Children) != 2 || !f.Children[0].Ended ||
			!f.Children[1].Ended {
			t.Fatalf("children %+v, want both ended and told while their parent sleeps", f.Children)
		}
		third := newNode(t, store)
		lead(third)
		during(t, third, time.Hour)
		if got, err := result[string](t, store, id); err != nil || got != "5 failed" || runs != 2 {
			t.Errorf("got %q, %v after %d runs", got, err, runs)
		}
	})
}

func TestRecursionHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		durable.Handle(n, "again", func(r *durable.Run, depth int) (int, error) {
			c, err := durable.Spawn(r, "again", depth+1)
			var denied *durable.Error
			if errors.As(err, &denied) && denied.Signal == perdure.Denied {
				return depth, nil
			}
			if err != nil {
				return 0, err
			}
			return durable.Wait[int](r, c)
		})
		id := start(t, n, "again", 0)
		during(t, n, time.Hour)
		if got, err := result[int](t, store, id); err != nil || got != 8 {
			t.Errorf("it went %d generations down (%v), want 8", got, err)
		}
	})
}

func TestAChildHasNoMoreThanItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		work(n)
		few := int64(3)
		until := time.Now().Add(time.Hour)
		durable.Handle(n, "lead", func(r *durable.Run, _ any) (string, error) {
			b := durable.Bounds{Scope: "durable/part", Budget: &perdure.Budget{Calls: &few}, Deadline: until, Depth: -1}
			if _, err := durable.SpawnWithin(r, b, "work", job{Minutes: 1}); err != nil {
				return "", err
			}
			_, err := durable.SpawnWithin(r, durable.Bounds{Scope: "elsewhere"}, "work", job{})
			if err == nil {
				return "", errors.New("a child has a scope its parent does not")
			}
			return err.Error(), nil
		})
		id := start(t, n, "lead", nil)
		during(t, n, 2*time.Hour)
		got, err := result[string](t, store, id)
		if err != nil || !strings.Contains(got, "scope elsewhere is not within durable") {
			t.Errorf("got %q, %v", got, err)
		}
		child := fold(t, store, fold(t, store, id).Children[0].Agent)
		if child.Charter.Scope != "durable/part" || child.Charter.Depth != 0 || *child.Intent.Budget.Calls != 3 ||
			child.Intent.Deadline != perdure.TimeOf(until) {
			t.Errorf("the child has %+v and %+v", child.Charter, child.Intent)
		}
	})
}
