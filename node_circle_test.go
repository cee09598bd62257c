package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// idleMoves are what an advisor may propose that leads to nothing by itself.
func idleMoves() map[string]perdure.Action {
	kind := "other"
	return map[string]perdure.Action{
		"sleep-no-time": perdure.Sleep{Trigger: perdure.After{}},
		"sleep-past":    perdure.Sleep{Trigger: perdure.At{Time: 1}},
		"sleep-true":    perdure.Sleep{Trigger: perdure.When{Condition: "true"}},
		"mutate":        perdure.Mutate{Kind: &kind},
		"fail":          perdure.Execute{Tool: "fail"},
		"refused":       perdure.Execute{Tool: "refused"},
		"asked":         perdure.Execute{Tool: "asked"},
		"unknown":       perdure.Wake{},
	}
}

// circle runs an agent whose advisor proposes the moves of a script over and over, and returns what it has written and
// why it rests.
func circle(t *testing.T, script [][]string, most int64) (int64, perdure.Idle) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a circle need not lead past the advisor
	defer cancel()
	store := new(perdure.MemStore)
	moves := idleMoves()
	fail := &tool{spec: perdure.Spec{Name: "fail", Effect: perdure.Read},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			return perdure.Result{}, errors.New("no such thing")
		}}
	refused, _ := counter("refused", perdure.Read)
	asked, _ := counter("asked", perdure.Read)
	n := newNode(t, store, scripted(func(a *perdure.Agent, turn int64) (out []perdure.Action) {
		if a.Fold().Count > most {
			cancel()
		}
		for _, name := range script[int(turn)%len(script)] {
			out = append(out, moves[name])
		}
		return out
	}), fail, refused, asked)
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
		if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "refused" {
			return perdure.Verdict{Answer: perdure.Deny, Rules: []string{"test"}}
		} else if ok && x.Tool == "asked" { // and nobody is there to answer
			return perdure.Verdict{Answer: perdure.Ask, Rules: []string{"test"}, Expires: perdure.TimeOf(now)}
		}
		return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
	})
	id := create(t, n, perdure.Genesis{})
	idle, err := n.RunAgent(ctx, id)
	if err != nil && ctx.Err() == nil {
		t.Fatalf("%v: %v", script, err)
	}
	return load(t, store, id).Count, idle
}

// TestWhatGoesInCirclesStops searches for scripts that keep an agent busy with nothing: whatever an advisor proposes
// over and over, if nothing new comes of it the agent stops and waits for a person.
func TestWhatGoesInCirclesStops(t *testing.T) {
	t.Parallel()
	const most = 400
	var names []string
	var scripts [][][]string
	for name := range idleMoves() {
		names = append(names, name)
		scripts = append(scripts, [][]string{{name}})
	}
	for _, one := range names {
		for _, other := range names {
			scripts = append(scripts, [][]string{{one}, {other}})
		}
	}
	r := rand.New(rand.NewPCG(11, 3))
	for range 60 {
		script := make([][]string, 1+r.IntN(4))
		for i := range script {
			for range 1 + r.IntN(3) {
				script[i] = append(script[i], names[r.IntN(len(names))])
			}
		}
		scripts = append(scripts, script)
	}
	for _, script := range scripts {
		if count, idle := circle(t, script, most); count > most {
			t.Errorf("%v: %d entries and no end", script, count)
		} else if !idle.Person && idle.Until == 0 && len(idle.Reasons) == 0 {
			t.Errorf("%v: it rests after %d entries and does not say why: %+v", script, count, idle)
		}
	}
}

func TestWhoWasStoppedInACircleGoesOnWhenToldSomething(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(func(a *perdure.Agent, _ int64) []perdure.Action {
		if len(a.Fold().Inbox) > 0 {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		return []perdure.Action{perdure.Sleep{Trigger: perdure.After{}}}
	}))
	id := create(t, n, perdure.Genesis{})
	idle := run(t, n, id)
	if !idle.Person || !idle.Is(phase.RestCircling) {
		t.Errorf("it rests so: %+v", idle)
	}
	count := load(t, store, id).Count
	if again := run(t, n, id); load(t, store, id).Count != count {
		t.Errorf("it goes on without a word: %+v", again)
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "enough"}); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	if load(t, store, id).Ended == nil {
		t.Error("told something, it does not go on")
	}
}

// Many events are queued while it is paused. It looks at each and has nothing to do: it hears them all.
func TestWhoLooksAtWhatItWasToldDoesNotGoInCircles(t *testing.T) {
	t.Parallel()
	n := newNode(t, new(perdure.MemStore), perdure.AdvisorFunc(
		func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
			seen := []perdure.Hash{}
			for _, m := range a.Fold().Inbox[:min(1, len(a.Fold().Inbox))] {
				seen = append(seen, m.Event)
			}
			return perdure.Advice{Seen: seen, Actions: []perdure.Action{
				perdure.Sleep{Trigger: perdure.On{Event: "order"}}}}, nil
		}))
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	for i := range 60 {
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "order", ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if idle := run(t, n, id); idle.Is(phase.RestCircling) {
		t.Errorf("it is stopped: %+v", idle)
	}
	if left := load(t, n.Store, id).Inbox; len(left) > 0 {
		t.Errorf("%d of 60 events were not looked at", len(left))
	}
}

func TestWorkIsNoCircle(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	work, seen := counter("work", perdure.Once)
	n := newNode(t, store, scripted(steps("work", 300)), work)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if _, total := calls(seen); total != 300 || load(t, store, id).Ended == nil {
		t.Errorf("%d of 300 calls", total)
	}
	kinds := 0
	n = newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if kinds++; turn >= 100 {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		kind := fmt.Sprint("kind-", turn)
		return []perdure.Action{perdure.Mutate{Kind: &kind}}
	}))
	id = create(t, n, perdure.Genesis{})
	run(t, n, id)
	if load(t, store, id).Ended == nil {
		t.Error("an agent that changes from turn to turn is stopped")
	}
}

func TestWhoWasStoppedInACircleEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.After{}}}
		}))
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{
			Deadline: perdure.TimeOf(time.Now().Add(time.Minute))}})
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		if err := n.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if f := load(t, store, id); f.Ended == nil || f.Ended.Signal != perdure.TimedOut {
			t.Errorf("it ended so: %+v, want timed out", f.Ended)
		}
	})
}

// Others write documents into a memory that does nothing itself, one after the other.
func TestDocumentsAreNoCircle(t *testing.T) {
	t.Parallel()
	n := newNode(t, new(perdure.MemStore), scripted(nothing))
	id := create(t, n, perdure.Genesis{})
	for range 60 {
		told := perdure.Event{Name: "document", Notice: perdure.Document{Path: "notes.md", Title: "notes"}}
		if _, err := n.Tell(t.Context(), id, told); err != nil {
			t.Fatal(err)
		}
	}
	a, err := n.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	idle, _ := perdure.Plan(a, perdure.Capabilities{All: true}, time.Now()).(perdure.Idle)
	if idle.Is(phase.RestCircling) {
		t.Errorf("a memory that somebody wrote documents into is stopped: %+v", idle)
	}
}
