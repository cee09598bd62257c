package perdure

import (
	"testing"
	"time"
)

// TestWhatWaitsSinceAClockThatWasAheadGoesOn holds against memories of which a part was written a year ahead, before
// the clock was put right.
func TestWhatWaitsSinceAClockThatWasAheadGoesOn(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	late := TimeOf(now.AddDate(1, 0, 0))
	pay := Execute{Tool: "pay"}
	asleep := func(tr Trigger) *Sleeping { return &Sleeping{Since: late, Sleep: Sleep{Trigger: tr}} }
	throttled := []ToolRecord{{Tool: advisorTool(""), Last: []SignalRecord{{Signal: Throttled, Time: late,
		After: 1000}}}}
	for name, f := range map[string]*Fold{
		"an effect under way": {Open: []Open{{Action: pay, Effect: Once, Since: late,
			Deadline: late.Add(time.Minute)}}},
		"one to be tried again": {Owed: []Owed{{Action: pay, Effect: Read, Signal: TimedOut, Since: late,
			Attempt: 1}}},
		"a sleep for a while":       {Sleep: asleep(After{Millis: 1000})},
		"a poll":                    {Sleep: asleep(Every{Millis: 1000, Poll: pay, Until: "result == 1"})},
		"an advisor that throttled": {Tools: throttled},
	} {
		if idle, rests := f.plan(&Capabilities{All: true}, now).(Idle); rests {
			t.Errorf("%s: nothing is done until %s: %+v", name, idle.Until, idle.Reasons)
		}
	}
	soon := TimeOf(now.Add(10 * time.Minute)) // clocks differ by that much
	f := &Fold{Open: []Open{{Action: pay, Effect: Once, Since: soon, Deadline: soon.Add(time.Minute)}}}
	if s, rests := f.plan(&Capabilities{All: true}, now).(Idle); !rests {
		t.Errorf("an effect that was begun ten minutes ahead is not left alone: %+v", s)
	}
}

// TestAPollThatCannotBePaidWaitsForAGrant holds against agents that wrote down a refusal at each time they would have
// polled, for ever.
func TestAPollThatCannotBePaidWaitsForAGrant(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	none := int64(0)
	wake := TimeOf(now.Add(time.Hour))
	poll := Every{Millis: 1000, Poll: Execute{Tool: "status"}, Until: "result == 1"}
	f := &Fold{Intent: Intent{Budget: &Budget{Calls: &none}}}
	f.Sleep = &Sleeping{Since: TimeOf(now.Add(-time.Minute)),
		Sleep: Sleep{Trigger: Any{Of: []Trigger{poll, At{Time: wake}}}}}
	idle, rests := f.plan(&Capabilities{All: true}, now).(Idle)
	if !rests || !idle.Person || idle.Until != wake {
		t.Errorf("got %+v, want it to wait for a person, or until %s", idle, wake)
	}
	f.Granted.Calls = 1
	if _, decides := f.plan(&Capabilities{All: true}, now).(decideStep); !decides {
		t.Error("after a grant it does not poll")
	}
}

// TestAnAgentPastItsDeadlineIsNotLookedAtForEver holds against nodes that looked without a pause at an agent whose
// deadline had passed and that could not end, because a person had paused it or had an effect to settle.
func TestAnAgentPastItsDeadlineIsNotLookedAtForEver(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	passed := TimeOf(now.Add(-time.Hour))
	pay := []Open{{Action: Execute{Tool: "pay"}, Effect: Once, Since: passed, Deadline: passed, Doubt: true}}
	for name, f := range map[string]*Fold{
		"paused":   {Intent: Intent{Deadline: passed}, Open: pay, Paused: []Hash{{1}}},
		"in doubt": {Intent: Intent{Deadline: passed}, Open: pay},
	} {
		if idle, rests := f.plan(&Capabilities{All: true}, now).(Idle); !rests || idle.Until != 0 {
			t.Errorf("%s: got %+v, want it to wait for a person alone", name, idle)
		}
	}
}
