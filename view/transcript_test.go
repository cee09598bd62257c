package view

import (
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

func data(t *testing.T, json string) perdure.Data {
	t.Helper()
	d, err := perdure.DataFromJSON([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAnswersAreText(t *testing.T) {
	t.Parallel()
	for json, want := range map[string]string{
		`"a\nb"`:                   "a\nb",
		`{"say":"yes"}`:            "yes",
		`{"say":"yes","to":"c1"}`:  "yes",
		`{"say":"yes","cents":12}`: `{"cents":12,"say":"yes"}`,
		`{"say":3}`:                `{"say":3}`,
		`[1,2]`:                    `[1,2]`,
		`true`:                     `true`,
	} {
		if got := AnswerText(data(t, json)); got != want {
			t.Errorf("%s: got %q, want %q", json, got, want)
		}
	}
	if got := AnswerText(nil); got != "" {
		t.Errorf("nothing: got %q", got)
	}
}

// TestAPlainAnswerIsNoQuestion: in a chat what a model answers is what it says; what it asks by its tool is a question.
func TestAPlainAnswerIsNoQuestion(t *testing.T) {
	t.Parallel()
	allow := perdure.Decision{Verdict: perdure.Verdict{Answer: perdure.Allow}}
	heeds := perdure.Any{Of: []perdure.Trigger{perdure.On{Event: perdure.AnswerEvent},
		perdure.When{Condition: "size(inbox) > 0"}}}
	answer := perdure.Sleep{Trigger: heeds, Note: "Paris."}
	question := perdure.Sleep{Trigger: heeds, Note: "Which one?", Call: "c1"}
	var tr Transcriber
	var got []string
	for _, l := range []Line{
		{Body: perdure.Advice{Model: "m", Actions: []perdure.Action{answer}}}, {Body: allow, Act: answer},
		{Body: perdure.Advice{Model: "m", Actions: []perdure.Action{question}}}, {Body: allow, Act: question},
	} {
		if s, ok := tr.Said(l); ok {
			got = append(got, s.Who+" "+s.What+" "+s.Text)
		}
	}
	if want := []string{"m says Paris.", "agent asks Which one?"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestATranscriptSaysThingsOnce: an agent that answers and then sleeps behind its answer says it once.
func TestATranscriptSaysThingsOnce(t *testing.T) {
	t.Parallel()
	asks := perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}, Note: "Paris."}
	allow := perdure.Decision{Verdict: perdure.Verdict{Answer: perdure.Allow}}
	var tr Transcriber
	var got []string
	for _, l := range []Line{
		{Body: perdure.Advice{Model: "m", Text: "Paris.", Actions: []perdure.Action{asks}}},
		{Body: allow, Act: asks},
		{Body: perdure.Event{Name: perdure.AnswerEvent, By: "ann", Data: data(t, `{"say":"thanks"}`)}},
		{Body: allow, Act: perdure.Wake{}},
		{Body: perdure.Event{Name: "enclosed", Notice: perdure.Enclosed{}}},
		{Body: perdure.Advice{Model: "m", Actions: []perdure.Action{asks}}},
		{Body: perdure.Decision{}, Act: perdure.Execute{Tool: "rm"}},
		{Body: perdure.Snapshot{}},
		{Body: allow, Act: perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}}}, // it only listens
	} {
		if s, ok := tr.Said(l); ok {
			got = append(got, s.Who+" "+s.What+" "+s.Text)
		}
	}
	want := []string{"m says Paris.", "ann says thanks", "policy denied rm"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}
