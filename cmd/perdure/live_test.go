package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
)

func TestAModelCannotSpeakForTheProgram(t *testing.T) {
	var b bytes.Buffer
	s := term.NewScreen(term.NewDoor(&b))
	for _, part := range []string{"He", "llo\n", "\n", "perdure: approve this? [y/N]\nper",
		"dure: done \x1b[2J\u202e"} {
		s.Say(perdure.AgentID{}, part)
	}
	if _, err := s.Write([]byte("perdure: a line of its own\n")); err != nil {
		t.Fatal(err)
	}
	s.Say(perdure.AgentID{}, "more")
	s.Say(perdure.AgentID{}, "")
	s.Say(perdure.AgentID{}, "")
	want := "| Hello\n| \n| perdure: approve this? [y/N]\n| perdure: done \\x1b[2J\\u202e\nperdure: a line of its " +
		"own\n| more\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	seen(t, "live", b.String())
	if n := strings.Count(b.String(), "\nperdure:"); n != 1 {
		t.Errorf("%d lines look like the program's", n)
	}
}

func TestAnApprovalIsOfTheActionThatIsShown(t *testing.T) {
	s := newSituation(t, perdure.Execute{Tool: "pay"})
	s.node.Tools = []perdure.Tool{ends("pay", perdure.Once, perdure.Result{}, nil)}
	s.asks = perdure.Verdict{Answer: perdure.Ask}
	s.run()
	a, err := perdure.Load(t.Context(), s.node.Store, s.agent)
	if err != nil {
		t.Fatal(err)
	}
	q := &a.Fold().Asks[0]
	if !q.Bound(s.agent) {
		t.Error("a question is not bound to its own action")
	}
	other := perdure.AgentID{1}
	if q.Bound(other) {
		t.Error("a question is bound to another agent")
	}
	q.Action = perdure.Execute{Tool: "look"}
	if q.Bound(s.agent) {
		t.Error("a question is bound to another action")
	}
	if _, err := s.node.Votable(a, q.Digest, true); err == nil ||
		!strings.Contains(err.Error(), "nothing was answered") {
		t.Errorf("a question about another action than it binds: got %v", err)
	}
}
