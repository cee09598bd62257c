package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestAConditionReadsRecentSignals: an agent sleeps until a tool has failed twice, say, or goes on if it has.
func TestAConditionReadsRecentSignals(t *testing.T) {
	t.Parallel()
	for source, met := range map[string]bool{
		`signals["look"].last == "ok" && size(signals["look"].recent) == 1 && signals["look"].calls == 1 && signals["look"].at <= now`: true,
		`signals["look"].recent.exists(s, s == "failed")`: false,
		`signals["other"].last == "ok"`:                   false, // not there: it does not hold
	} {
		s := newResting(t, perdure.Genesis{}, []perdure.Action{perdure.Execute{Tool: "look"}},
			[]perdure.Action{perdure.Sleep{Trigger: perdure.When{Condition: source}}},
			[]perdure.Action{perdure.End{Signal: perdure.OK}})
		s.run()
		if got := s.fold().Ended != nil; got != met {
			t.Errorf("%s: got that it went on %v, want %v", source, got, met)
		}
	}
}
