package script_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// A turn with nothing but a text is said to people; what they answer is its result.
func TestAScriptTalks(t *testing.T) {
	t.Parallel()
	n := newNode(t, new(perdure.MemStore), read(t, `
turns:
  - sleep: {on: answer}
  - text: "you said ${last.result.say}"
    repeat: 2
  - text: "and why ${results.why.result.say}?"
    when: '"why" in results'
  - text: "why?"
    as: why
  - end: {result: "because ${results.why.result.say}"}
`))
	id := create(t, n, nil)
	asks := func(say, want string) {
		t.Helper()
		if _, err := n.Say(t.Context(), id, say); err != nil {
			t.Fatal(err)
		}
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if q, ok := load(t, n, id).Fold().Question(time.Now()); q.Text != want || !ok {
			t.Errorf("to %q it says %q, want %q", say, q.Text, want)
		}
	}
	asks("hello", "you said hello")
	asks("again", "you said again")
	asks("go on", "why?")
	if _, err := n.Say(t.Context(), id, "I must"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if end := load(t, n, id).Fold().Ended; end == nil || end.Result.Text() != "because I must" {
		t.Errorf("ended %+v, want what was answered", end)
	}
}
