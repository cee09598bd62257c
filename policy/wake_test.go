package policy_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/policy"
)

// TestForbiddenWakesAreNotMade: a forbid is one whoever wrote it and whatever it is called; what nothing rules on is
// allowed to wake.
func TestForbiddenWakesAreNotMade(t *testing.T) {
	t.Parallel()
	parse := func(text string) *policy.Set {
		s, err := policy.Parse(policy.File{Name: "x.cedar", Text: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const wake = ` forbid (principal, action == Action::"wake", resource);`
	local := parse(`@id("p") permit (principal, action == Action::"execute", resource);`)
	own := parse(`@id("never")` + wake)
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set     *policy.Set
		charter []perdure.Hash
		woken   bool
	}{
		"nothing about wakes":    {set: local, woken: true},
		"nothing in two sets":    {set: local.Know(local), charter: []perdure.Hash{local.Hash()}, woken: true},
		"a local forbid":         {set: own},
		"the charter's forbid":   {set: local.Know(own), charter: []perdure.Hash{own.Hash()}},
		"a forbid with that end": {set: parse(`@id("corp-policy.default")` + wake)},
	} {
		g := perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
			Charter: perdure.Charter{Scope: "a", Policies: c.charter}}
		e, err := key.Genesis(g, now)
		if err != nil {
			t.Fatal(err)
		}
		a, err := perdure.Begin(e)
		if err != nil {
			t.Fatal(err)
		}
		nap := perdure.Sleep{Trigger: perdure.After{Millis: 1}}
		verdict := perdure.Verdict{Answer: perdure.Allow}
		_, a, err = key.Commit(a, now, perdure.Draft{Body: perdure.Decision{Action: nap, Verdict: verdict}})
		if err != nil {
			t.Fatal(err)
		}
		step := perdure.Plan(a, perdure.Capabilities{Node: key.Key(), Policy: c.set}, now.Add(time.Hour))
		if woken := step.Doing().What == phase.StepRouse; woken != c.woken {
			t.Errorf("%s: %+v, want woken %v", name, step, c.woken)
		}
	}
}
