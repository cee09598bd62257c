package view_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// An effect that was begun in one copy of an agent, and of which another copy knew nothing that has gone to sleep, is
// asked about as soon as nobody is at work on it: by all who ask people anything, and not just when its deadline is
// over.
func TestAnEffectOfAnotherBranchIsAskedAboutEverywhere(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	trust := perdure.NewTrust().With(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	ctx, now, s := t.Context(), time.Now(), new(perdure.MemStore)
	n := &perdure.Node{Store: s, Key: key, Trust: trust, Policy: answer(perdure.Allow),
		Advisors: map[string]perdure.Advisor{"": says{}}}
	a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "pay"},
		Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	allowed := perdure.Verdict{Answer: perdure.Allow}
	for _, d := range []perdure.Decision{
		{Action: perdure.Execute{Tool: "pay"}, Verdict: allowed, Effect: perdure.Once,
			Deadline: perdure.TimeOf(now.Add(time.Hour))},
		{Action: perdure.Sleep{Trigger: perdure.On{Event: "go"}}, Verdict: allowed},
	} {
		branch, _, err := key.Commit(a, now, perdure.Draft{Body: d})
		if err == nil {
			err = s.Put(ctx, a.ID(), branch...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Tell(ctx, a.ID(), perdure.Event{Name: "said"}); err != nil {
		t.Fatal(err)
	}
	if a, err = perdure.Load(ctx, s, a.ID()); err != nil {
		t.Fatal(err)
	}
	if f := a.Fold(); f.Sleep == nil || len(f.Open) != 1 {
		t.Fatalf("sleep %v, %d open effects: the test tries nothing", f.Sleep, len(f.Open))
	}
	asks := func(who string, waits []view.Wait) {
		t.Helper()
		if len(waits) != 1 || waits[0].Kind != view.WaitDoubt || waits[0].Answer == "" {
			t.Errorf("%s: %+v, want one effect in doubt", who, waits)
		}
	}
	found, faults, err := view.Inbox(ctx, s, trust, perdure.Place{}, key.Key(), now)
	if err != nil || faults != nil {
		t.Fatal(err, faults)
	}
	asks("the inbox", found)
	var lines []perdure.Listing
	for l, err := range s.List(ctx, perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if found, faults, err = view.InboxOf(ctx, s, trust, perdure.Place{}, key.Key(), now, lines, nil); err != nil ||
		faults != nil {
		t.Fatal(err, faults)
	}
	asks("the inbox of a page", found)
	at, err := view.AttendanceOf(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	v := view.Summarize(a, trust, nil, key.Key(), now)
	strays := at.Strays(a, now)
	asks("who shows it", strays)
	if v.Attended(&at, a, strays, now); v.Standing != "waiting" || !v.Person {
		t.Errorf("it is shown to be %s, want it waiting", v.Standing)
	}
	if _, err := s.Claim(ctx, a.ID(), perdure.Key{1}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if found, _, err = view.Inbox(ctx, s, trust, perdure.Place{}, key.Key(), now); err != nil || len(found) > 0 {
		t.Errorf("%+v, %v: while a node is at work on it nobody is asked", found, err)
	}
}
