package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// asking is a set that permits everything and asks with each of the obligations.
func asking(t *testing.T, obligations ...string) *policy.Set {
	t.Helper()
	text := `@id("all") permit (principal, action, resource);`
	for i, o := range obligations {
		text += `@id("a` + string(rune('0'+i)) + `") @obligation("` + o + `") forbid (principal, action, resource);`
	}
	return parse(t, text)
}

func TestQuestionsEscalateAtAbsoluteTimes(t *testing.T) {
	at := func(hour, minute int) perdure.Time {
		return perdure.TimeOf(time.Date(2026, 1, 7, hour, minute, 0, 0, time.UTC)) // the sample is of noon
	}
	for _, c := range []struct {
		name        string
		obligations []string
		want        []perdure.Escalation
	}{
		{"two stages", []string{"approval:ops;quorum=2;expires=24h;escalate=30m:lead;escalate=2h:cto, ceo"},
			[]perdure.Escalation{{At: at(12, 30), Asked: []string{"lead"}},
				{At: at(14, 0), Asked: []string{"ceo", "cto"}}}},
		{"two rules at one time", []string{"approval:ops;escalate=1h:b", "approval:ops;escalate=1h:a"},
			[]perdure.Escalation{{At: at(13, 0), Asked: []string{"a", "b"}}}},
		{"nobody is asked twice", []string{"approval:ops,lead;escalate=1h:lead;escalate=2h:cto",
			"approval:ops;escalate=3h:cto"}, []perdure.Escalation{{At: at(14, 0), Asked: []string{"cto"}}}},
		{"none after the question expires", []string{"approval:ops;escalate=1h:lead;escalate=3h:cto",
			"approval:ops;expires=2h"}, []perdure.Escalation{{At: at(13, 0), Asked: []string{"lead"}}}},
		{"none", []string{"approval:ops"}, nil},
	} {
		v := asking(t, c.obligations...).DecideFacts(policy.Sample("execute"))
		if d := cmp.Diff(c.want, v.Escalate); v.Answer != perdure.Ask || d != "" {
			t.Errorf("%s: got %s (-want +got):\n%s", c.name, v.Answer, d)
		}
	}
	own := asking(t, "approval:me;escalate=10m:them")
	f := policy.Sample("execute")
	f["policies"] = []any{own.Hash().String()}
	want := []perdure.Escalation{{At: at(12, 30), Asked: []string{"lead"}}} // its own brings nobody in
	if d := cmp.Diff(want, asking(t, "approval:ops;escalate=30m:lead").Know(own).DecideFacts(f).Escalate); d != "" {
		t.Errorf("with the agent's own policy (-want +got):\n%s", d)
	}
}

func TestEscalationsThatWouldNotComeAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"approval:a;escalate=30m":                          "want whom to ask then",
		"approval:a;escalate=30m:,":                        "want whom to ask then",
		"approval:a;escalate=:b":                           "want a duration",
		"approval:a;escalate=soon:b":                       "want a duration",
		"approval:a;escalate=-1h:b":                        "want a duration",
		"approval:a;escalate=1h:b;escalate=1h:c":           "later than the one before",
		"approval:a;escalate=2h:b;escalate=1h:c":           "later than the one before",
		"approval:a;escalate=24h:b;expires=24h":            "the question expires after 24h, before that",
		"approval:a;expires=1h30m;escalate=2h:b":           "the question expires after 1h30m, before that",
		"approval:a" + strings.Repeat(";escalate=1h:b", 9): "9 escalations: want at most 8",
	} {
		_, err := policy.Parse(policy.File{Name: "x.cedar", Text: []byte(`@id("x") @obligation("` + text +
			`") forbid (principal, action, resource);`)})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "x.cedar:1:1: rule x: ") {
			t.Errorf("%s: got %v, want x.cedar:1:1 and %q", text, err, want)
		}
	}
}

func TestObligationsAreToldInWords(t *testing.T) {
	for text, want := range map[string]string{
		"approval:":                      "asks 1 approver",
		"approval:;quorum=3;expires=90s": "asks 3 approvers; denied after 1m30s",
		"approval:owner;expires=168h":    "asks owner; denied after 168h",
		"approval:ops;quorum=2;expires=24h;escalate=30m:lead;escalate=2h:cto,ceo": "asks 2 of ops; after 30m also " +
			"lead; after 2h also ceo, cto; denied after 24h",
	} {
		x := asking(t, text).ExplainFacts(policy.Sample("execute"))
		if got := x.Rules[0].Obligation.String(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	b, err := json.Marshal(asking(t, "approval:ops;expires=24h;escalate=30m:lead").
		ExplainFacts(policy.Sample("execute")).Rules[0].Obligation)
	if want := `{"asked":["ops"],"quorum":1,"expires":"24h","escalate":[{"after":"30m","asked":["lead"]}]}`; err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
}
