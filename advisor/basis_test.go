package advisor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/internal/dev/wiretest"
)

// TestAModelNamesWhatToLookAtAgain: the reads are in the record with what they had come to, and the model sees that
// they were noted.
func TestAModelNamesWhatToLookAtAgain(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		var third string
		turns := wiretest.Turns(
			wiretest.Turn{Calls: []wiretest.Call{call("c1", "a")}, In: 10, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{
				{ID: "r1", Name: "recheck",
					Args: []string{`{"reads":[{"tool":"files_look","args":{"path":"a"}}],"seconds":60}`}},
				call("c2", "b"),
			}, In: 10, Out: 1},
			done)
		s := p.serve(t, func(n int, request map[string]any) wiretest.Turn {
			if n == 2 {
				third = strings.Join(texts(request), "\n")
			}
			return turns(n, request)
		})
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		advice, _ := memory[perdure.Advice](w)
		b := advice[1].Basis
		if b == nil || b.Stale != 60_000 || len(b.Reads) != 1 || b.Reads[0].Read.Tool != "files.look" ||
			b.Reads[0].Result.IsZero() {
			t.Fatalf("got basis %+v, want the read with what it came to", b)
		}
		if w.fold().Ended == nil || !strings.Contains(third, "noted") {
			t.Errorf("the model was shown %q, want that its reads are noted", third)
		}
	})
}

// texts are all texts in a value.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	}
	return all
}

// TestAModelWaitsAndLooksAgain.
func TestAModelWaitsAndLooksAgain(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Calls: []wiretest.Call{{ID: "w1", Name: "wait",
				Args: []string{`{"event":"go","recheck":[{"tool":"files_look","args":{"path":"a"}}]}`}}}, In: 10,
				Out: 1},
			done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		if _, err := w.node.Tell(t.Context(), w.id, perdure.Event{Name: "go"}); err != nil {
			t.Fatal(err)
		}
		for since := w.fold().Updated; perdure.TimeOf(time.Now()) <= since+1; { // until it is stale, by any clock
			time.Sleep(time.Millisecond)
		}
		w.run()
		if len(w.look.calls) != 1 || w.fold().Ended == nil {
			t.Errorf("got looks %q, want one on waking", w.look.calls)
		}
	})
}

// TestARecheckAloneIsReportedBack.
func TestARecheckAloneIsReportedBack(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Calls: []wiretest.Call{{ID: "r1", Name: "recheck",
				Args: []string{`{"reads":[{"tool":"files_look"}]}`}}}, In: 10, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "r2", Name: "recheck",
				Args: []string{`{"reads":[{"tool":"nothing"}]}`}}, call("c1", "a")}, In: 10, Out: 1},
			done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		advice, _ := memory[perdure.Advice](w)
		if w.fold().Ended == nil || advice[0].Basis != nil || advice[1].Basis != nil {
			t.Errorf("got %+v, want no basis and the goal reached", advice)
		}
	})
}
