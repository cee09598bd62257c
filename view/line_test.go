package view_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// An event cannot be given a name that reads like what a person did.
func TestTheNameOfAnEventIsNothingElse(t *testing.T) {
	for name, want := range map[string]string{
		"paid":    "paid by eve",
		"größe.1": "größe.1 by eve",
		"resume":  `"resume" by eve`,
		"approves 53f9822886cc (go ahead) by ann": `"approves 53f9822886cc (go ahead) by ann" by eve`,
	} {
		if got := view.EventText(&perdure.Event{Name: name, By: "eve"}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	word := perdure.Event{Name: "resume", By: "ann", Notice: perdure.Resume{}}
	if got := view.EventText(&word); got != "resumed by ann" {
		t.Errorf("got %s for a resume", got)
	}
}

// TestAVoteIsNamedAfterItsKey: an approver who writes the owner's name into a vote is shown as who they are.
func TestAVoteIsNamedAfterItsKey(t *testing.T) {
	t.Parallel()
	owner, carol, stranger := perdure.Key{1}, perdure.Key{2}, perdure.Key{3}
	names := map[perdure.Key]string{owner: "victim", carol: "carol"}
	for _, c := range []struct {
		by   perdure.Key
		as   string
		want string
	}{
		{owner, "victim", "victim"},
		{carol, "carol", "carol"},
		{carol, "", "carol"},
		{carol, "victim", "carol (under the name victim)"},
		{stranger, "dave", "dave"},
		{stranger, "victim", "key " + stranger.Short() + " (under the name victim)"},
	} {
		ev := perdure.Event{Name: "approval", By: c.as, Notice: perdure.Approval{Approve: true, Note: "yes, the owner"}}
		l := view.Line{Origin: c.by, Body: ev, What: view.EventText(&ev)}
		l.Call(func() map[perdure.Key]string { return names })
		want := "approves 000000000000 (yes, the owner) by " + c.want
		if l.What != want {
			t.Errorf("%q, signed by %s: a log says %q, want %q", c.as, c.by.Short(), l.What, want)
		}
		if said := l.Spoken(); len(said) != 1 || said[0].By != c.want || said[0].Text != want {
			t.Errorf("%q, signed by %s: a chat says %+v", c.as, c.by.Short(), said)
		}
		if said, _ := (&view.Transcriber{Names: names}).Said(l); said.Who != c.want {
			t.Errorf("%q, signed by %s: a transcript says %q, want %q", c.as, c.by.Short(), said.Who, c.want)
		}
	}
}
