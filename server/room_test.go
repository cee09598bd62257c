package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// Whoever may send events, and nothing else, cannot fill an agent's inbox so that its owner is refused.
func TestSendersLeaveTheOwnerRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sender := w.token("", home.VerbEvent)
	id := w.agent("busy")
	path := "/v1/agents/" + id.String() + "/events"
	large := client.Event{Name: "flood", Data: json.RawMessage(`"` + strings.Repeat("x", 900<<10) + `"`)}
	sent := 0
	for ; sent < 20; sent++ {
		if code, _, _ := w.raw(sender, "POST", path, large); code != 200 {
			break
		}
	}
	if sent < 5 || sent > 7 {
		t.Errorf("%d large events were taken, want part of the room", sent)
	}
	if p := w.problem(sender, "POST", path, large, 429); !strings.Contains(p.Detail, "its inbox is full") {
		t.Errorf("got %q", p.Detail)
	}
	mine, err := perdure.DataOf(strings.Repeat("y", 900<<10))
	if err != nil {
		t.Fatal(err)
	}
	event := perdure.Event{Name: "stop", By: w.desk.Node.Key.Name, Data: mine}
	if _, err := w.desk.Node.Tell(t.Context(), id, event); err != nil {
		t.Errorf("the owner is refused: %v", err)
	}
}

// The same for many events, also those of a kind that the agent waits for.
func TestManyEventsLeaveTheOwnerRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	both := perdure.All{Of: []perdure.Trigger{perdure.On{Event: "a"}, perdure.On{Event: "b"}}}
	w.node.Advisors[""] = perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
		return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: both}}}, nil
	})
	id := w.agent("waiting")
	w.run(id)
	v, err := w.home.Visit(w.token("", home.VerbEvent), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other", "a"} {
		for i := 0; i < 2000 && err == nil; i++ {
			ev := perdure.Event{Name: name, ID: fmt.Sprint(name, i)}
			_, _, err = w.desk.Event(t.Context(), v, id.String(), ev)
		}
		if !errors.Is(err, perdure.ErrFull) {
			t.Fatalf("%s: got %v, want that the inbox is full", name, err)
		}
		err = nil
	}
	for i := range 8 {
		mine := perdure.Event{Name: "mine", By: w.desk.Node.Key.Name, ID: fmt.Sprint(i)}
		if _, err := w.desk.Node.Tell(t.Context(), id, mine); err != nil {
			t.Fatalf("the owner's event %d: %v", i, err)
		}
	}
	if _, _, err := w.desk.Event(t.Context(), v, id.String(), perdure.Event{Name: "b"}); err != nil {
		t.Errorf("what wakes the agent is refused: %v", err)
	}
}
