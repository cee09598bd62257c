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

// TestAVoteIsNamedAfterItsKey: whoever writes another's name into a vote is shown as who they are, and so is, in
// anything else, whoever may not own the agent. The owner's server speaks for people.
func TestAVoteIsNamedAfterItsKey(t *testing.T) {
	t.Parallel()
	owner, carol, stranger := perdure.Key{1}, perdure.Key{2}, perdure.Key{3}
	approver := perdure.Key{4}
	all := func(k perdure.Key, name string, right perdure.Right) perdure.Trustee {
		return perdure.Trustee{Key: k, Name: name, Rights: right, Scope: perdure.AnyScope}
	}
	voices := view.VoicesIn(&perdure.Fold{Charter: perdure.Charter{Owner: owner, Scope: "acme",
		Approvers: []perdure.Key{approver}}}, perdure.NewTrust(all(owner, "victim", perdure.MayOwn),
		all(carol, "carol", perdure.MayApprove|perdure.MayAuthor)))
	for _, c := range []struct {
		by   perdure.Key
		as   string
		want string
	}{
		{owner, "victim", "victim"},
		{carol, "carol", "carol"},
		{carol, "", "carol"},
		{owner, "carol", "victim (under the name carol)"},
		{carol, "victim", "carol (under the name victim)"},
		{approver, "dave", "key " + approver.Short() + " (under the name dave)"},
		{stranger, "victim", "a stranger (key " + stranger.Short() + ", under the name victim)"},
	} {
		say, err := perdure.DataOf(map[string]any{"say": "pay"})
		if err != nil {
			t.Fatal(err)
		}
		word := perdure.Event{Name: perdure.AnswerEvent, By: c.as, Data: say}
		said := view.Line{Origin: c.by, Body: word, What: view.EventText(&word)}
		said.Call(voices)
		if want := "answer by " + c.want + ` "pay"`; c.by != owner && c.as != "" && said.What != want {
			t.Errorf("%q, signed by %s: a log says %q, want %q", c.as, c.by.Short(), said.What, want)
		} else if c.by == owner && said.What != view.EventText(&word) {
			t.Errorf("a server for %q: a log says %q", c.as, said.What)
		}
		ev := perdure.Event{Name: "approval", By: c.as, Notice: perdure.Approval{Approve: true, Note: "yes, the owner"}}
		l := view.Line{Origin: c.by, Body: ev, What: view.EventText(&ev)}
		l.Call(voices)
		want := "approves 000000000000 (yes, the owner) by " + c.want
		if l.What != want {
			t.Errorf("%q, signed by %s: a log says %q, want %q", c.as, c.by.Short(), l.What, want)
		}
		if said := l.Spoken(); len(said) != 1 || said[0].By != c.want || said[0].Text != want {
			t.Errorf("%q, signed by %s: a chat says %+v", c.as, c.by.Short(), said)
		}
		if said, _ := (&view.Transcriber{Voices: voices}).Said(l); said.Who != c.want {
			t.Errorf("%q, signed by %s: a transcript says %q, want %q", c.as, c.by.Short(), said.Who, c.want)
		}
	}
}
