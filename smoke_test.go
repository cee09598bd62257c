package perdure

import (
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	s, err := GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	g, err := s.Genesis(Genesis{Intent: Intent{Goal: "x", Name: "a"}, Charter: Charter{Scope: "acme"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		args, _ := DataOf(map[string]any{"a": 1})
		es, next, err := s.Commit(a, now, Draft{Body: Advice{Actions: []Action{Execute{Tool: "t", Args: args}}}})
		if err != nil {
			t.Fatal(err)
		}
		d := es[0].Name
		_ = d
		step := Plan(next, Capabilities{All: true}, now).(Decide)
		es, next, err = s.Commit(next, now, Draft{Body: Decision{Advice: step.Advice, Index: step.Index, Verdict: Verdict{Answer: Allow}, Effect: Once, Deadline: TimeOf(now.Add(time.Minute))}})
		if err != nil {
			t.Fatal(err)
		}
		es, next, err = s.Commit(next, now, Draft{Body: Outcome{Decision: es[0].Name, Signal: OK, Result: args}})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := es[0].MarshalBinary()
		e2, err := DecodeEntry(b, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if e2.Name != es[0].Name {
			t.Fatal("name")
		}
		t.Log(len(b), len(es[0].header), next.Fold().State(), next.Fold().Standing(), Plan(next, Capabilities{All: true}, now))
		a = next
	}
	h, err := a.Fold().Hash()
	t.Log(h, err)
}
