package perdure

import (
	"testing"
	"time"
)

func TestWhatWasDueInACrowdIsForgottenAfterIt(t *testing.T) {
	crowded := time.Now()
	found := func() map[string][]Look {
		return map[string][]Look{"other": {{Agent: AgentID{1}}, {Agent: AgentID{2}}}}
	}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {asideFor, true}, {asideFor + 1, false}, {time.Hour, false}} {
		s := share{working: map[string]int{"busy": 1}, aside: found(), crowded: crowded}
		if _, got := s.next("busy", crowded.Add(c.after)); got != c.want {
			t.Errorf("%v after the crowd, an agent that was due then is offered: %v, want %v", c.after, got, c.want)
		}
		if !c.want && s.aside != nil {
			t.Errorf("%v after the crowd it still keeps %v", c.after, s.aside)
		}
	}
}
