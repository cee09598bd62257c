package perdure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// noSecret is a guard that knows one secret.
type noSecret string

func (g noSecret) Check(body []byte) error {
	if bytes.Contains(body, []byte(g)) {
		return errors.New("it contains the secret TOKEN")
	}
	return nil
}

func TestNothingWithASecretEntersMemory(t *testing.T) {
	const secret = "hunter2hunter2"
	store := new(perdure.MemStore)
	leak := func(name string, effect perdure.Effect) perdure.Tool {
		return &tool{spec: perdure.Spec{Name: name, Effect: effect},
			call: func(_ context.Context, c perdure.Call) (perdure.Result, error) {
				switch name {
				case "doubt":
					return perdure.Result{}, fmt.Errorf("sent %s: %w", secret, perdure.ErrInDoubt)
				case "fail":
					return perdure.Result{}, errors.New("no such token " + secret)
				}
				return perdure.Result{Data: text("the token is " + secret),
					Set:   map[string]perdure.Data{"t": text(secret)},
					Spend: perdure.Spend{Cost: 7}}, nil
			}}
	}
	adv := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		adv := perdure.Advice{Usage: &perdure.Usage{In: 10}}
		switch a.Fold().Turns {
		case 0:
			adv.Text = "I remember " + secret
		case 1:
			adv.Actions = []perdure.Action{callOf("echo", "x"), callOf("fail", "x"), callOf("doubt", "x")}
		}
		return adv, nil
	})
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, store, adv, leak("echo", perdure.Read), leak("fail", perdure.Read), leak("doubt", perdure.Once))
		n.Guard = noSecret(secret)
		if _, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "use " + secret},
			Charter: perdure.Charter{Scope: "x"}}); err == nil {
			t.Error("an agent with a secret in its goal was created")
		}
		id := create(t, n, perdure.Genesis{})
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "hint", Data: text(secret)}); err == nil ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("an event with a secret in it: %v", err)
		}
		run(t, n, id)
		time.Sleep(time.Minute) // the advice that was not recorded counts as failed: it is asked again later
		idle := run(t, n, id)
		f := load(t, store, id)
		if len(f.Open) != 1 || !f.Open[0].Doubt || !idle.Person {
			t.Errorf("open effects: %+v, idle: %+v; want one in doubt", f.Open, idle)
		}
		if f.Spent.Tokens != 20 || f.Spent.Cost != 7 || f.Vars != nil {
			t.Errorf("spent %+v with state %v, want what everything cost and no state", f.Spent, f.Vars)
		}
		var notes []string
		for e, err := range perdure.Memory(t.Context(), store, id) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := e.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s entry at seq %d holds the secret", e.Kind, e.Seq)
			}
			if o, ok := e.Content().(perdure.Outcome); ok {
				notes = append(notes, o.Signal.String()+": "+o.Note)
			}
		}
		for _, want := range []string{"ok: its result cannot be recorded", "failed: its result cannot be recorded"} {
			if !strings.Contains(strings.Join(notes, "\n"), want) {
				t.Errorf("the outcomes say %q, want one with %q", notes, want)
			}
		}
	})
}

// oneNumber knows one schema, in which n is at most 3.
type oneNumber struct{ schema perdure.Hash }

func (c oneNumber) CheckState(schema perdure.Hash, vars map[string]perdure.Data) error {
	if schema != c.schema {
		return fmt.Errorf("schema %s: %w", schema.Short(), perdure.ErrIncapable)
	}
	if n, ok := vars["n"].Value().(int64); ok && n > 3 {
		return fmt.Errorf("n is %d, want at most 3", n)
	}
	return nil
}

func (c oneNumber) MoveState(_, to perdure.Hash, vars map[string]perdure.Data) (map[string]perdure.Data, error) {
	return vars, c.CheckState(to, vars)
}

func TestStateIsHeldAgainstItsSchema(t *testing.T) {
	schema := perdure.HashOf([]byte("schema"))
	store := new(perdure.MemStore)
	set := &tool{spec: perdure.Spec{Name: "set", Effect: perdure.Read},
		call: func(_ context.Context, c perdure.Call) (perdure.Result, error) {
			return perdure.Result{Set: map[string]perdure.Data{"n": c.Args}, Data: c.Args}, nil
		}}
	number := func(n int64) perdure.Data {
		d, err := perdure.DataOf(n)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	adv := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn < 2 {
			return []perdure.Action{perdure.Execute{Tool: "set", Args: number(2 + 5*turn)}}
		}
		return nil
	})
	n := newNode(t, store, adv, set)
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Goal: "count", StateSchema: schema}})
	if idle := run(t, n, id); !strings.Contains(idle.Needs, "state schema "+schema.Short()) {
		t.Errorf("a node without schemas is idle with %+v, want it to say what it lacks", idle)
	}
	n = newNode(t, store, adv, set)
	n.State = oneNumber{schema}
	run(t, n, id)
	f := load(t, store, id)
	if got := f.Vars["n"].Value(); got != int64(2) {
		t.Errorf("n is %v, want 2: 7 is not in the schema", got)
	}
	rec := f.Tool("set")
	if rec == nil || rec.Last[len(rec.Last)-1].Signal != perdure.Partial {
		t.Errorf("the record of set is %+v, want its last signal partial", rec)
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "edit",
		Set: map[string]perdure.Data{"n": number(9)}}); err == nil || !strings.Contains(err.Error(), "at most 3") {
		t.Errorf("an event that sets a wrong state: %v", err)
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "edit",
		Set: map[string]perdure.Data{"n": number(3)}}); err != nil {
		t.Error(err)
	}
}

// TestASnapshotThatTheGuardRefusesKeepsNothingFromBeingRecorded holds against outcomes that were lost, and effects that
// were repeated at every run, because the state of the agent held what became known as a secret later.
func TestASnapshotThatTheGuardRefusesKeepsNothingFromBeingRecorded(t *testing.T) {
	for _, effect := range []perdure.Effect{perdure.Once, perdure.Idempotent} {
		store := new(perdure.MemStore)
		pay, seen := counter("pay", effect)
		n := newNode(t, store, scripted(steps("pay", 30)), pay)
		n.SnapshotEvery = 6
		id := create(t, n, perdure.Genesis{})
		v, err := perdure.DataOf("hunter22")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "x",
			Set: map[string]perdure.Data{"v": v}}); err != nil {
			t.Fatal(err)
		}
		m := &perdure.Node{Store: store, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
			Advisors: n.Advisors}
		m.SnapshotEvery, m.Guard = 6, noSecret("hunter22")
		for range 2 {
			run(t, m, id)
		}
		f := load(t, store, id)
		if _, total := calls(seen); total != 30 || f.Ended == nil || len(f.Open) > 0 {
			t.Errorf("%s: called %d times, %d open, %s; want 30, 0, terminated", effect, total, len(f.Open), f.State())
		}
	}
}
