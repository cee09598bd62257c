package advisor

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// A model whose earlier turns were collected is told so, and what is known to have been done.
func TestAModelIsToldWhatExpiredTurnsDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := calls("paying")
		s := newStage(t, &LLM{Model: model}, "paid")
		a, err := s.node.Create(t.Context(), perdure.Genesis{
			Intent:  perdure.Intent{Goal: "pay", TTL: time.Hour.Milliseconds()},
			Charter: perdure.Charter{Owner: s.node.Key.Key(), Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		s.id = a.ID()
		s.cycles(3)
		done := s.load().Fold().Turns
		if got := shape(model.last); !strings.Contains(got, "Begin.") {
			t.Fatalf("it does not begin:\n%s", got)
		}
		time.Sleep(2 * time.Hour)
		if c, err := s.node.Collect(t.Context(), s.id); err != nil || c.Entries == 0 {
			t.Fatalf("collected %d bodies: %v", c.Entries, err)
		}
		s.llm = &LLM{Model: model, Store: s.store, Tools: s.llm.Tools} // as after a restart
		s.node.Advisors[""] = s.llm
		for s.load().Fold().Turns == done {
			s.cycles(1)
		}
		got := shape(model.last)
		for _, want := range []string{"have expired", "called so far: echo", `decided last: echo {"n":1}`} {
			if !strings.Contains(got, want) {
				t.Errorf("got no %q in\n%s", want, got)
			}
		}
		if strings.Contains(got, "Begin.") {
			t.Errorf("it begins again:\n%s", got)
		}
	})
}
