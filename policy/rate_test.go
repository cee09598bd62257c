package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// history is an agent that called tools in the past.
type history struct {
	t     *testing.T
	key   *perdure.Signer
	agent *perdure.Agent
}

func newHistory(t *testing.T) *history {
	t.Helper()
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Charter: perdure.Charter{Scope: "test"}}, now.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	return &history{t, key, a}
}

// call adds a call of a tool some time ago; signal 0 leaves it under way.
func (h *history) call(tool string, ago time.Duration, signal perdure.Signal) {
	h.t.Helper()
	d := perdure.Decision{Action: perdure.Execute{Tool: tool}, Effect: perdure.Read,
		Verdict: perdure.Verdict{Answer: perdure.Allow}}
	if signal == perdure.Denied {
		d.Verdict.Answer = perdure.Deny
	}
	entries, a, err := h.key.Commit(h.agent, now.Add(-ago), perdure.Draft{Body: d})
	if err == nil && signal != 0 && signal != perdure.Denied {
		_, a, err = h.key.Commit(a, now.Add(-ago), perdure.Draft{Body: perdure.Outcome{Decision: entries[0].Name,
			Signal: signal, Spend: &perdure.Spend{Calls: 1}}})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.agent = a
}

// facts is the context of a call of a tool now.
func (h *history) facts(tool string) map[string]any {
	h.t.Helper()
	f, err := policy.FactsOf(h.agent, perdure.Request{Action: perdure.Execute{Tool: tool}}, now)
	if err != nil {
		h.t.Fatal(err)
	}
	return f["context"].(map[string]any)
}

func rates(minute, hour, total int64) map[string]any {
	return map[string]any{"minute": minute, "hour": hour, "total": total}
}

func TestCallsAreCountedByMinuteAndHour(t *testing.T) {
	h := newHistory(t)
	h.call("a", 2*time.Hour, perdure.OK)
	h.call("a", 30*time.Minute, perdure.OK)
	h.call("a", 10*time.Second, perdure.OK)
	h.call("b", 5*time.Second, perdure.OK)
	h.call("a", time.Second, 0)
	if d := cmp.Diff(rates(2, 3, 4), h.facts("a")["toolCalls"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(rates(3, 4, 5), h.facts("a")["calls"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(rates(0, 0, 0), h.facts("c")["toolCalls"]); d != "" {
		t.Error(d)
	}
}

func TestRateThatMemoryForgotIsTheMostPossible(t *testing.T) {
	h := newHistory(t)
	for range 40 {
		h.call("a", 10*time.Second, perdure.OK)
	}
	if got := h.facts("a")["toolCalls"].(map[string]any)["minute"].(int64); got != 40 {
		t.Errorf("40 calls in a minute count as %d", got)
	}
	s := parse(t, `@id("all") permit (principal, action, resource);
		@id("rate") forbid (principal, action == Action::"execute", resource) when { context.toolCalls.hour >= 40 };`)
	for range 20 { // refusals must not push calls out of mind
		h.call("a", time.Second, perdure.Denied)
		if v := s.Decide(h.agent, perdure.Request{Action: perdure.Execute{Tool: "a"}}, now); v.Answer != perdure.Deny {
			t.Fatalf("got %s after refusals, want deny", v.Answer)
		}
	}
}

func TestToolsThatWereForgottenCountAsTheMostPossible(t *testing.T) {
	h := newHistory(t)
	for range 3 {
		h.call("first", 20*time.Minute, perdure.OK)
	}
	for i := range 256 {
		h.call(fmt.Sprintf("t%03d", i), 10*time.Minute, perdure.OK)
	}
	if d := cmp.Diff(rates(0, 259, 259), h.facts("first")["toolCalls"]); d != "" {
		t.Error(d)
	}
}

func TestFailuresInARowAreCounted(t *testing.T) {
	h := newHistory(t)
	for i, c := range []struct {
		signal perdure.Signal
		want   int64
	}{{perdure.Failed, 1}, {perdure.TimedOut, 2}, {perdure.Denied, 2}, {perdure.OK, 0}, {perdure.Denied, 0},
		{perdure.Failed, 1}} {
		h.call("a", time.Duration(100-i)*time.Second, c.signal)
		if got := h.facts("a")["failures"]; got != c.want {
			t.Errorf("after %d signals: %v failures, want %d", i+1, got, c.want)
		}
	}
}

// TestRulesReadHowLongCallsTook: of the last call that was made; not of one that nobody measured.
func TestRulesReadHowLongCallsTook(t *testing.T) {
	h := newHistory(t)
	h.call("web", time.Minute, perdure.OK)
	if f := h.facts("web"); f["latency"] != nil {
		t.Errorf("got %v of a call nobody measured", f["latency"])
	}
	d := perdure.Decision{Action: perdure.Execute{Tool: "web"}, Effect: perdure.Read,
		Verdict: perdure.Verdict{Answer: perdure.Allow}}
	entries, a, err := h.key.Commit(h.agent, now, perdure.Draft{Body: d})
	if err == nil {
		_, h.agent, err = h.key.Commit(a, now, perdure.Draft{Body: perdure.Outcome{Decision: entries[0].Name,
			Signal: perdure.OK, Took: 7_000_500}})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.call("web", 0, perdure.Denied)
	if f := h.facts("web"); f["latency"] != int64(7000) {
		t.Errorf("got %v, want 7000", f["latency"])
	}
	set, err := policy.Parse(policy.File{Name: "slow.cedar", Text: []byte(`@id("all") permit(principal, action, resource);
@id("slow") forbid(principal, action == Action::"execute", resource) when { context has latency && context.latency > 5000 };`)})
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]perdure.Answer{"web": perdure.Deny, "other": perdure.Allow} {
		if v := set.Decide(h.agent, perdure.Request{Action: perdure.Execute{Tool: tool}, Effect: perdure.Read},
			now); v.Answer != want {
			t.Errorf("%s: got %s, want %s: %s", tool, v.Answer, want, v.Reason)
		}
	}
}
