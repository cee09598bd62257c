package perdure_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

func TestAQuestionNobodyAnswersGoesToMorePeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		deploy, seen := counter("deploy", perdure.Once)
		n := newNode(t, store, scripted(steps("deploy", 1)), deploy)
		n.Trust = n.Trust.With(perdure.Trustee{Key: n.Key.Key(), Name: "cto", Rights: perdure.MayApprove,
			Scope: "test"})
		n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
			v := askWrites(a, r, now)
			if v.Answer == perdure.Ask {
				at := func(d time.Duration) perdure.Time { return perdure.TimeOf(now.Add(d)) }
				v.Asked, v.Expires = []string{"ops"}, at(3*time.Hour)
				v.Escalate = []perdure.Escalation{{At: at(30 * time.Minute), Asked: []string{"lead"}},
					{At: at(2 * time.Hour), Asked: []string{"cto", "ceo"}}}
			}
			return v
		})
		id := create(t, n, perdure.Genesis{})
		check := func(after time.Duration, stage int64, asked ...string) {
			t.Helper()
			time.Sleep(after)
			idle := run(t, n, id)
			q := load(t, store, id).Asks[0]
			if got := q.Asked(); q.Stage != stage || !slices.Equal(got, asked) {
				t.Errorf("at stage %d %q are asked, want stage %d and %q", q.Stage, got, stage, asked)
			}
			if !idle.Person || !slices.ContainsFunc(idle.Reasons, func(r perdure.Reason) bool {
				return slices.Equal(r.Asked, asked)
			}) {
				t.Errorf("idle with %+v, want %q to be asked", idle.Reasons, asked)
			}
		}
		check(0, 0, "ops")
		if due := load(t, store, id).Due(time.Now()); time.Until(due.Go()) != 30*time.Minute {
			t.Errorf("the next look is in %v, want it when the question goes to others", time.Until(due.Go()))
		}
		check(29*time.Minute, 0, "ops")
		check(2*time.Minute, 1, "ops", "lead")
		check(time.Hour, 1, "ops", "lead")
		check(time.Hour, 2, "ops", "lead", "cto", "ceo")
		escalated := 0
		for e, err := range perdure.Memory(t.Context(), store, id) {
			if err != nil {
				t.Fatal(err)
			}
			if ev, ok := e.Content().(perdure.Event); ok && ev.Name == "escalated" {
				escalated++
			}
		}
		if escalated != 2 {
			t.Errorf("%d entries tell of escalations, want 2", escalated)
		}
		q := load(t, store, id).Asks[0]
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "approval",
			Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest, Approve: true}}); err != nil {
			t.Fatal(err)
		}
		run(t, n, id)
		if _, total := calls(seen); total != 1 {
			t.Errorf("%d effects after the approval, want 1", total)
		}
	})
}

func TestANodeAsksOnlyWhenTheTimeToEscalateHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		deploy, _ := counter("deploy", perdure.Once)
		n := newNode(t, store, scripted(steps("deploy", 1)), deploy)
		n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
			v := askWrites(a, r, now)
			if v.Answer == perdure.Ask {
				v.Escalate = []perdure.Escalation{{At: perdure.TimeOf(now.Add(time.Hour)), Asked: []string{"lead"}}}
			}
			return v
		})
		id := create(t, n, perdure.Genesis{})
		go func() { _ = n.Run(t.Context()) }()
		time.Sleep(59 * time.Minute)
		if got := load(t, store, id).Asks[0].Stage; got != 0 {
			t.Errorf("after 59 minutes the question is at stage %d", got)
		}
		time.Sleep(2 * time.Minute)
		if got := load(t, store, id).Asks[0].Stage; got != 1 {
			t.Errorf("after an hour the question is at stage %d, want 1: a running node sees to it by itself", got)
		}
	})
}
