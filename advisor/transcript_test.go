package advisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// thinker is a model in Go.
type thinker struct {
	say  func(p *Prompt) (Reply, error)
	last *Prompt
}

func (t *thinker) Name() string   { return "test-model" }
func (t *thinker) Family() string { return "test" }

func (t *thinker) Ask(_ context.Context, p *Prompt, _ func(string)) (Reply, error) {
	if !p.Talk {
		t.last = p
	}
	return t.say(p)
}

// echo is a tool whose result is as long as asked.
type echo struct{ text string }

func (echo) Spec() perdure.Spec {
	return perdure.Spec{Name: "echo", Description: "echoes", Effect: perdure.Read}
}

func (e echo) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	d, err := perdure.DataOf(e.text)
	return perdure.Result{Data: d}, err
}

// stage is a node with one agent advised by a thinker.
type stage struct {
	tb    testing.TB
	store *perdure.MemStore
	node  *perdure.Node
	llm   *LLM
	id    perdure.AgentID
}

func newStage(tb testing.TB, llm *LLM, result string) *stage {
	tb.Helper()
	return newStageOf(tb, llm, result, "")
}

// newStageOf is a stage with an agent of a kind.
func newStageOf(tb testing.TB, llm *LLM, result, kind string) *stage {
	tb.Helper()
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		tb.Fatal(err)
	}
	s := &stage{tb: tb, store: new(perdure.MemStore), llm: llm}
	tool := echo{result}
	llm.Store, llm.Tools = s.store, Specs(tool)
	s.node = &perdure.Node{
		Store: s.store, Key: key, Tools: []perdure.Tool{tool}, Advisors: map[string]perdure.Advisor{"": llm},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
		}),
	}
	a, err := s.node.Create(context.Background(), perdure.Genesis{Intent: perdure.Intent{Goal: "talk", Kind: kind},
		Charter: perdure.Charter{Owner: key.Key(), Scope: "acme"}})
	if err != nil {
		tb.Fatal(err)
	}
	s.id = a.ID()
	return s
}

func (s *stage) load() *perdure.Agent {
	s.tb.Helper()
	a, err := perdure.Load(context.Background(), s.store, s.id)
	if err != nil {
		s.tb.Fatal(err)
	}
	return a
}

// cycles runs the agent for some cycles.
func (s *stage) cycles(n int) {
	s.tb.Helper()
	for range n {
		if _, err := s.node.Cycle(context.Background(), s.id); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// calls is a thinker that calls the tool, time after time, and writes summaries when asked.
func calls(text string) *thinker {
	return &thinker{say: func(p *Prompt) (Reply, error) {
		if p.Talk {
			return Reply{Text: "so far: " + text, Tokens: Tokens{In: 10, Out: 5}}, nil
		}
		return Reply{Text: text, Calls: []ToolCall{{Name: "echo", Args: `{"n":1}`}},
			Tokens: Tokens{In: 100, Out: 10, Cached: 90}}, nil
	}}
}

// shape is a prompt without what is different every time.
func shape(p *Prompt) string {
	var b strings.Builder
	for _, m := range p.Messages[:p.Stable] {
		fmt.Fprintf(&b, "%v %v %x\n", m.Model, m.Parts, m.Raw)
	}
	return b.String()
}

// TestTranscriptIsAFunctionOfMemory: kept between turns, made anew from what the agent holds, or read from the store
// after a restart, the model is shown the same, and so are the commitments to it.
func TestTranscriptIsAFunctionOfMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		budget := rapid.IntRange(1_200, 8_000).Draw(rt, "budget")
		snapshots := rapid.IntRange(5, 60).Draw(rt, "snapshots")
		turns := rapid.IntRange(1, 90).Draw(rt, "turns")
		s := newStage(t, &LLM{Model: calls(strings.Repeat("words ", 20)), Context: budget},
			strings.Repeat("result ", 30))
		s.node.SnapshotEvery = snapshots
		s.cycles(2 * turns)
		step := perdure.Plan(s.load(), perdure.Capabilities{Advisors: []string{""}}, time.Now())
		if step.Doing().What != phase.StepConsult {
			s.cycles(1)
		}
		names := newWireNames(offered(s.llm.Tools, s.load().Fold()))
		kept, err := s.llm.take(context.Background(), s.load(), names)
		if err != nil {
			rt.Fatal(err)
		}
		full, err := perdure.FoldEntries(perdure.Memory(context.Background(), s.store, s.id))
		if err != nil {
			rt.Fatal(err)
		}
		held, err := s.llm.recall(context.Background(), full, names)
		if err != nil {
			rt.Fatal(err)
		}
		f := s.load().Fold()
		entries, from, err := read(context.Background(), f.Reader(s.store), f)
		if err != nil {
			rt.Fatal(err)
		}
		stored := s.llm.render(f, entries, from, names, full.SaidBy, nil)
		now := time.Now()
		want, _ := assemble(full.Fold(), held.transcript, nil, "", now)
		for name, r := range map[string]*recollection{"kept": kept, "read from the store": stored} {
			got, _ := assemble(full.Fold(), r.transcript, nil, "", now)
			if diff := cmp.Diff(shape(want), shape(got)); diff != "" {
				rt.Fatalf("%s differs (-from the agent +%s):\n%s", name, name, diff)
			}
			if diff := cmp.Diff(held.shown(), r.shown()); diff != "" {
				rt.Fatalf("%s commits to something else:\n%s", name, diff)
			}
		}
	})
}

// TestPromptStaysWithinItsBudget over a long life, and what the model said and learned last is in it.
func TestPromptStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	n := 0
	m := calls("")
	inner := m.say
	m.say = func(p *Prompt) (Reply, error) {
		r, err := inner(p)
		if !p.Talk {
			n++
			r.Text = fmt.Sprintf("thought number %d.", n)
		}
		return r, err
	}
	const budget = 3_000
	s := newStage(t, &LLM{Model: m, Context: budget}, strings.Repeat("result ", 60))
	for i := range 400 {
		s.cycles(1)
		if m.last == nil {
			continue
		}
		tokens := tokensOf(m.last.System)
		for j := range m.last.Messages {
			tokens += messageTokens(&m.last.Messages[j])
		}
		if tokens > budget {
			t.Fatalf("cycle %d: the prompt takes %d tokens of %d", i, tokens, budget)
		}
	}
	if last := shape(m.last); !strings.Contains(last, fmt.Sprintf("thought number %d.", n-1)) {
		t.Errorf("the last prompt lacks what was said before it:\n%s", last)
	}
	f := s.load().Fold()
	if f.Summary.IsZero() || !strings.Contains(shape(m.last), "so far:") {
		t.Error("there is no summary")
	}
}

func TestShownCommitsToTheEntriesShown(t *testing.T) {
	t.Parallel()
	s := newStage(t, &LLM{Model: calls("hm")}, "r")
	s.cycles(9)
	var entries []*perdure.Entry
	checked := 0
	for e, err := range perdure.Memory(t.Context(), s.store, s.id) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := e.Content().(perdure.Advice); ok && a.Shown != nil {
			from := slices.IndexFunc(entries, func(x *perdure.Entry) bool { return x.Name == a.Shown.From })
			var names []byte
			for _, x := range entries[from:] {
				names = append(names, x.Name[:]...)
			}
			if got := perdure.HashOf(names); got != a.Shown.Digest || int64(len(entries)-from) != a.Shown.Count {
				t.Errorf("entry %d: shown is %+v, the entries come to %s", e.Seq, a.Shown, got)
			}
			checked++
		}
		entries = append(entries, e)
	}
	if checked < 4 {
		t.Errorf("%d advices checked", checked)
	}
}

// TestLateEventIsShownWhereItBelongs: an event from elsewhere that comes before what the transcript has already.
func TestLateEventIsShownWhereItBelongs(t *testing.T) {
	t.Parallel()
	s := newStage(t, &LLM{Model: calls("hm")}, "r")
	s.cycles(4)
	early := s.load()
	s.cycles(3)
	data, err := perdure.DataOf("from far away")
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := s.node.Key.Commit(early, time.Now(), perdure.Draft{Body: perdure.Event{Name: "message",
		Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Put(t.Context(), s.id, entries...); err != nil {
		t.Fatal(err)
	}
	a := s.load()
	names := newWireNames(offered(s.llm.Tools, a.Fold()))
	kept, err := s.llm.take(t.Context(), a, names)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := s.llm.recall(t.Context(), a, names)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := assemble(a.Fold(), kept.transcript, nil, "", time.Now())
	want, _ := assemble(a.Fold(), fresh.transcript, nil, "", time.Now())
	if diff := cmp.Diff(shape(want), shape(got)); diff != "" || !strings.Contains(shape(got), "from far away") {
		t.Errorf("the transcript kept lacks the event (-want +got):\n%s", diff)
	}
}

// TestAdviceOvertakenByAnEventStands: something is told to the agent while the model thinks, and the model is shown it
// next time, not asked the same again.
func TestAdviceOvertakenByAnEventStands(t *testing.T) {
	t.Parallel()
	n := 0
	var s *stage
	var second string
	s = newStageOf(t, &LLM{Model: &thinker{say: func(p *Prompt) (Reply, error) {
		if n++; n == 1 {
			if _, err := s.node.Tell(t.Context(), s.id, perdure.Event{Name: "message", By: "by the way"}); err != nil {
				t.Error(err)
			}
		} else {
			second = shape(p)
		}
		return Reply{Text: "done", Tokens: Tokens{In: 100, Out: 10}}, nil
	}}}, "", perdure.ChatKind)
	if _, err := s.node.Say(t.Context(), s.id, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.node.RunAgent(t.Context(), s.id); err != nil {
		t.Fatal(err)
	}
	if f := s.load().Fold(); n != 2 || f.Spent.Tokens != 220 || !strings.Contains(second, "by the way") {
		t.Errorf("asked %d times, %d tokens are counted, shown %s; want 2, 220 and the event", n, f.Spent.Tokens,
			second)
	}
}

// TestDenialsAndFailuresAreShown to the model as results of its calls.
func TestDenialsAndFailuresAreShown(t *testing.T) {
	t.Parallel()
	m := calls("hm")
	s := newStage(t, &LLM{Model: m}, "")
	s.node.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Deny, Rules: []string{"no-echo"}, Reason: "echoes are forbidden"}
	})
	s.cycles(3)
	if got := shape(m.last); !strings.Contains(got, "denied by policy: echoes are forbidden true") {
		t.Errorf("the model is shown\n%s", got)
	}
}

// TestThousandTurnsGrowLinearly: a conversation is stored once, whatever the model is sent each time.
func TestThousandTurnsGrowLinearly(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand turns")
	}
	t.Parallel()
	text, result := strings.Repeat("what the model has to say about it. ", 60),
		strings.Repeat("a line of a file that was read\n", 200)
	s := newStage(t, &LLM{Model: calls(text), Context: 30_000}, result)
	s.cycles(2_000)
	f := s.load().Fold()
	if f.Turns != 1_000 {
		t.Fatalf("%d turns", f.Turns)
	}
	var total, content int
	var half int
	for e, err := range perdure.Memory(t.Context(), s.store, s.id) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		total += len(b)
		switch c := e.Content().(type) {
		case perdure.Advice:
			content += len(c.Text) + len(c.Summary)
			for _, act := range c.Actions {
				content += len(act.(perdure.Execute).Args)
			}
		case perdure.Outcome:
			content += len(c.Result)
		}
		if e.Seq == f.Seq/2 {
			half = total
		}
	}
	ratio := float64(total) / float64(content)
	t.Logf("%d bytes for %d of content: %.3f; %d a turn beside it", total, content, ratio, (total-content)/1000)
	if ratio > 1.15 {
		t.Errorf("%d bytes are stored for %d of new content: %.3f times, want at most 1.15", total, content, ratio)
	}
	if d := float64(total) / float64(half); d < 1.8 || d > 2.2 {
		t.Errorf("the second half takes %.2f times the first: not linear", d-1)
	}
}

// BenchmarkTurn is a turn of an agent (advice, decision, call, outcome) early and late in its life: the median of the
// ten turns around the one named, as collections of garbage and other programs fall on some turns by chance.
func BenchmarkTurn(b *testing.B) {
	for _, turn := range []int{10, 1_000} {
		b.Run(fmt.Sprintf("at%d", turn), func(b *testing.B) {
			var took []time.Duration
			for range b.N {
				b.StopTimer()
				s := newStage(b, &LLM{Model: calls(strings.Repeat("words ", 100)), Context: 30_000},
					strings.Repeat("result ", 200))
				s.cycles(2 * (turn - 5))
				b.StartTimer()
				for range 10 {
					start := time.Now()
					s.cycles(2)
					took = append(took, time.Since(start))
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "median-ns/turn")
		})
	}
}
