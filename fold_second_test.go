package perdure_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func TestASecondOutcomeOfOneDecisionSetsNothing(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be tested"},
		Charter: perdure.Charter{Scope: "test"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(genesis)
	if err != nil {
		t.Fatal(err)
	}
	add := func(b perdure.Body) perdure.Hash {
		t.Helper()
		entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		a = next
		return entries[0].Name
	}
	set := func(step int) map[string]perdure.Data {
		d, err := perdure.DataOf(step)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]perdure.Data{"paid": d}
	}
	pay := perdure.Decision{Action: perdure.Execute{Tool: "pay"}, Verdict: perdure.Verdict{Answer: perdure.Allow},
		Effect: perdure.Once}
	first := add(pay)
	add(perdure.Outcome{Decision: first, Signal: perdure.OK, Set: set(1)})
	add(perdure.Outcome{Decision: add(pay), Signal: perdure.OK, Set: set(2)})
	for _, late := range []perdure.Body{
		perdure.Outcome{Decision: first, Signal: perdure.OK, Set: set(1)}, // of a worker that was given up
		perdure.Event{Name: "settled", Notice: perdure.Settle{Decision: first, Signal: perdure.OK}, Set: set(1)},
	} {
		add(late)
		if got := a.Fold().Vars["paid"].Value(); got != int64(2) {
			t.Errorf("after %+v the agent knows of payment %v, want 2", late, got)
		}
	}
}
