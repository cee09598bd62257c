package view

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// rests are the kinds of reasons, read from the source that declares them.
func rests(t *testing.T) (kinds []phase.Rest) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../phase/rest.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Rest") {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, phase.Rest(text))
		return true
	})
	if len(kinds) < 20 {
		t.Fatalf("found %d kinds of reasons in phase/rest.go", len(kinds))
	}
	return kinds
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, k := range rests(t) {
		r := perdure.Reason{Kind: k, Note: "a note", Tool: "mail", Needs: "mail", Attempt: 3,
			Fault: errors.New("no right")}
		if got := Why(perdure.Idle{Reasons: []perdure.Reason{r}}); got == "" || strings.Contains(got, string(k)+")") {
			t.Errorf("of %s it says %q", k, got)
		}
	}
	if got := Why(perdure.Idle{Reasons: []perdure.Reason{{Kind: "new"}}}); !strings.Contains(got, "new") {
		t.Errorf("of a reason it does not know it says %q", got)
	}
}

func TestReasonsInWords(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	soon := perdure.TimeOf(now.Add(3 * time.Minute))
	on := func(event string) perdure.Pending { return perdure.Pending{Trigger: perdure.On{Event: event}} }
	at := perdure.Pending{Trigger: perdure.At{Time: soon}, Until: soon}
	for _, c := range []struct {
		reason perdure.Reason
		want   string
		timed  bool
	}{
		{perdure.Reason{Kind: phase.RestAsleep, Trigger: &at}, "asleep until 12:03:00 UTC (in 3m)", true},
		{perdure.Reason{Kind: phase.RestAsleep, Trigger: &perdure.Pending{Of: []perdure.Pending{on("a"), on("b")}}},
			"asleep for event a, or for event b", false},
		{perdure.Reason{Kind: phase.RestAsleep, Trigger: &perdure.Pending{All: true,
			Of: []perdure.Pending{on("a"), on("b")}}},
			"asleep for event a, and for event b", false},
		{perdure.Reason{Kind: phase.RestBackoff, Tool: "advisor:", Signal: perdure.Failed, Attempt: 2, Until: soon},
			"trying again at 12:03:00 UTC (in 3m), attempt 3: its advisor failed", true},
		{perdure.Reason{Kind: phase.RestRetry, Tool: "mail", Signal: perdure.Throttled, Attempt: 2, Of: 5,
			Until: soon},
			"trying again at 12:03:00 UTC (in 3m), attempt 3 of 5: mail is limiting its rate", true},
		{perdure.Reason{Kind: phase.RestHeld, Fault: &perdure.Rejection{Entry: "0123456789abcdef", Got: "k",
			Want: "own", Hint: "if you trust this key: perdure key trust K"}},
			"held: entry 0123456789ab is by k: it takes own; if you trust this key: perdure key trust K", false},
		{perdure.Reason{Kind: phase.RestLacks, Needs: "advisor:"}, "no advisor configured", false},
		{perdure.Reason{Kind: phase.RestLacks, Needs: "advisor:careful", Note: "no key"},
			"advisor careful cannot be asked here: no key", false},
		{perdure.Reason{Kind: phase.RestLacks, Needs: "scope:acme/ops", Note: "works on agents in home only"},
			"needs a node with scope acme/ops (this one: works on agents in home only)", false},
		{perdure.Reason{Kind: phase.RestLacks, Needs: "mail", Note: "no key"},
			"needs a node with mail (this one: no key)", false},
	} {
		got, timed := WhyNow(perdure.Idle{Reasons: []perdure.Reason{c.reason}}, now)
		if got != c.want || timed != c.timed {
			t.Errorf("it says %q (a time: %t), want %q", got, timed, c.want)
		}
	}
	two := perdure.Idle{Reasons: []perdure.Reason{{Kind: phase.RestAsleep, Trigger: &at}, {Kind: phase.RestPaused}}}
	if got, want := Why(two), "asleep until "+soon.String()+"; paused"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
