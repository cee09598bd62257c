package advisor_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/internal/dev/wiretest"
)

// row is something a provider does, and what must come of it with each of them.
type row struct {
	name   string
	turns  []wiretest.Turn // then done
	signal perdure.Signal  // of the first advice; none: the agent goes on to its end
	after  int64           // the retry-after it names, in milliseconds
	cells  map[string][]perdure.Usage
	check  func(t *testing.T, w *world, s *wiretest.Server) // what else must hold
}

// The same answer costs otherwise with each provider, and where an answer breaks off each has told another part of its
// count by then.
func cells(anthropic, openai, gemini []perdure.Usage) map[string][]perdure.Usage {
	return map[string][]perdure.Usage{"anthropic": anthropic, "openai": openai, "gemini": gemini}
}

func use(in, out, cached, cost int64) []perdure.Usage {
	return []perdure.Usage{{In: in, Out: out, Cached: cached, Cost: cost}}
}

var (
	none     = []perdure.Usage{{}}
	uncount  = cells(none, none, none)
	brokeOff = cells(use(50, 1, 0, 220), none, use(50, 2, 0, 83))
	ofDone   = cells(use(300, 9, 200, 620), use(300, 9, 200, 330), use(300, 9, 200, 240))
)

var (
	soon    = map[string]string{"Retry-After": "7"}
	oneCall = []wiretest.Call{call("c1", "a")}
	halves  = []string{"a", "b"}
)

// matrix is every case a provider is tested for. A case without a cell for a provider fails.
var matrix = []row{
	{name: "streaming", turns: []wiretest.Turn{{Text: []string{"I ", "see."}, In: 100, Out: 20, Cached: 60}},
		cells: cells(use(100, 20, 60, 572), use(100, 20, 60, 292), use(100, 20, 60, 258)), check: answered},
	{name: "parallel tool calls", turns: []wiretest.Turn{
		{Text: []string{"I will ", "look."}, Calls: []wiretest.Call{call("c1", "a"), call("c2", "b")}, In: 100, Out: 20,
			Cached: 60, Written: 30}},
		cells: cells(use(100, 20, 60, 602), use(100, 20, 60, 292), use(100, 20, 60, 258)), check: lookedTwice},
	{name: "429 with retry-after", turns: []wiretest.Turn{{Status: 429, Kind: "rate_limit_error", Message: "slow down",
		Header: soon}},
		signal: perdure.Throttled, after: 7000, cells: uncount},
	{name: "429 in milliseconds", turns: []wiretest.Turn{{Status: 429, Kind: "rate_limit_error",
		Header: map[string]string{"Retry-After-Ms": "1500"}}},
		signal: perdure.Throttled, after: 1500, cells: uncount},
	{name: "529", turns: []wiretest.Turn{{Status: 529, Kind: "overloaded_error", Message: "Overloaded"}},
		signal: perdure.Throttled, cells: uncount},
	{name: "503", turns: []wiretest.Turn{{Status: 503, Kind: "server_error"}}, signal: perdure.Throttled,
		cells: uncount},
	{name: "503 with retry-after", turns: []wiretest.Turn{{Status: 503, Kind: "server_error", Header: soon}},
		signal: perdure.Throttled, after: 7000, cells: uncount},
	{name: "overload inside the stream", turns: []wiretest.Turn{{Midway: true, Status: 503, Kind: "overloaded_error",
		Message: "Overloaded", In: 50}},
		signal: perdure.Throttled, cells: cells(use(50, 1, 0, 220), none, none)},
	{name: "malformed JSON", turns: []wiretest.Turn{{Text: halves, Malformed: true, In: 50, Out: 2}},
		signal: perdure.Failed, cells: brokeOff},
	{name: "cut stream", turns: []wiretest.Turn{{Text: halves, Cut: true, In: 50, Out: 2}}, signal: perdure.Failed,
		cells: brokeOff},
	{name: "cut in a call", turns: []wiretest.Turn{{Calls: oneCall, Cut: true, In: 50, Out: 2}}, signal: perdure.Failed,
		cells: brokeOff},
	{name: "short stream", turns: []wiretest.Turn{{Text: halves, Short: true, In: 50, Out: 2}}, signal: perdure.Failed,
		cells: brokeOff},
	{name: "short of a call", turns: []wiretest.Turn{{Calls: oneCall, Short: true, In: 50, Out: 2}},
		signal: perdure.Failed, cells: brokeOff},
	{name: "refusal", turns: []wiretest.Turn{{Refusal: "I must decline", In: 50, Out: 2}}, signal: perdure.Failed,
		cells: cells(use(50, 2, 0, 240), use(50, 2, 0, 120), use(50, 2, 0, 83))},
	{name: "context overflow", turns: []wiretest.Turn{
		{Calls: oneCall, In: 10, Out: 1}, {Status: 400, Kind: wiretest.Overflow},
		{Text: []string{"SUMMARY: saw a"}, In: 20, Out: 2},
		{Calls: []wiretest.Call{call("c2", "b")}, In: 30, Out: 3}},
		cells: cells(append(use(10, 1, 0, 60), use(50, 5, 0, 300)...), append(use(10, 1, 0, 30), use(50, 5, 0, 150)...),
			append(use(10, 1, 0, 23), use(50, 5, 0, 113)...)),
		check: summarised},
	{name: "500", turns: []wiretest.Turn{{Status: 500, Kind: "api_error", Message: "oh"}}, signal: perdure.Failed,
		cells: uncount},
	{name: "504", turns: []wiretest.Turn{{Status: 504, Kind: "timeout_error"}}, signal: perdure.TimedOut,
		cells: uncount},
	{name: "401 that repeats the key", turns: []wiretest.Turn{{Status: 401, Kind: "authentication_error",
		Message: "bad key " + wiretest.Key}}, signal: perdure.Incapable, cells: uncount},
	{name: "404 for the model", turns: []wiretest.Turn{{Status: 404, Kind: "not_found_error", Message: "model: x"}},
		signal: perdure.Incapable, cells: uncount},
	{name: "400 that repeats the key", turns: []wiretest.Turn{{Status: 400, Kind: "invalid_request_error",
		Message: "odd " + wiretest.Key}}, signal: perdure.Failed, cells: uncount},
	{name: "silence", turns: []wiretest.Turn{{Hang: true}}, signal: perdure.TimedOut, cells: uncount},
}

// TestEveryCaseWithEveryProvider: whatever the provider does, the agent goes on, or sleeps with a recorded signal and
// goes on when it is asked again, and tokens and cost are counted to the last.
func TestEveryCaseWithEveryProvider(t *testing.T) {
	for _, r := range matrix {
		t.Run(r.name, func(t *testing.T) {
			each(t, func(t *testing.T, p provider) {
				if r.cells[p.name] == nil {
					t.Fatal("the matrix has no cell here")
				}
				r.run(t, p)
			})
		})
	}
}

func (r *row) run(t *testing.T, p provider) {
	turns := append(slices.Clone(r.turns), done)
	hold := make(chan struct{})
	if r.name == "streaming" {
		turns[0].Hold = hold // the rest comes when the first piece was heard
	}
	s := p.serve(t, wiretest.Turns(turns...))
	var live strings.Builder
	var once sync.Once
	llm := &advisor.LLM{Model: p.model(s.URL, testKey), Live: func(_ perdure.AgentID, text string) {
		live.WriteString(text)
		once.Do(func() { close(hold) })
	}}
	if turns[0].Hold != nil {
		llm.Timeout = 20 * time.Second // a model that is not heard before its answer is whole is never heard
	}
	if turns[0].Hang {
		llm.Timeout = 100 * time.Millisecond
	}
	w := newWorld(t, llm)
	start := time.Now()
	idle := w.run()
	if r.signal == 0 {
		r.went(t, p, w)
		if heard := strings.Join(turns[0].Text, ""); live.String() != heard {
			t.Errorf("live text is %q, want %q", live.String(), heard)
		}
	} else {
		r.slept(t, p, w, s, idle, start)
	}
	if r.check != nil {
		r.check(t, w, s)
	}
}

// used compares what each advice took, and what the agent has spent.
func used(t *testing.T, w *world, advice []perdure.Advice, want []perdure.Usage) {
	t.Helper()
	var got []perdure.Usage
	var sum perdure.Spend
	for i := range advice {
		u := perdure.Usage{}
		if advice[i].Usage != nil {
			u = *advice[i].Usage
		}
		got = append(got, u)
	}
	for _, u := range want {
		sum.Tokens, sum.Cost = sum.Tokens+u.In+u.Out, sum.Cost+u.Cost
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage of the advice (-want +got):\n%s", diff)
	}
	if f := w.fold(); f.Spent.Tokens != sum.Tokens || f.Spent.Cost != sum.Cost {
		t.Errorf("%d tokens and %d millionths are spent, want %d and %d", f.Spent.Tokens, f.Spent.Cost, sum.Tokens,
			sum.Cost)
	}
}

// went checks an agent that went on to its end.
func (r *row) went(t *testing.T, p provider, w *world) {
	t.Helper()
	f := w.fold()
	if f.Ended == nil || f.Ended.Signal != perdure.OK {
		t.Fatalf("ended %+v, want ok", f.Ended)
	}
	advice, _ := memory[perdure.Advice](w)
	want := r.cells[p.name]
	if f.Ended.Result.Text() == "all seen" {
		want = append(slices.Clone(want), ofDone[p.name]...)
	}
	used(t, w, advice, want)
	for i := range advice {
		if advice[i].Signal != 0 || advice[i].Model != p.model("", nil).Name() {
			t.Errorf("advice %d has signal %s and model %q", i, advice[i].Signal, advice[i].Model)
		}
	}
}

// slept checks an agent that sleeps with a signal, and that it goes on when it is asked again.
func (r *row) slept(t *testing.T, p provider, w *world, s *wiretest.Server, idle perdure.Idle, start time.Time) {
	t.Helper()
	advice, raw := memory[perdure.Advice](w)
	if len(advice) != 1 || advice[0].Signal != r.signal || advice[0].RetryAfter != r.after || advice[0].Text == "" {
		t.Fatalf("advice is %+v, want one that says why, with signal %s and retry-after %d", advice, r.signal, r.after)
	}
	used(t, w, advice, r.cells[p.name])
	if bytes.Contains(raw, []byte(wiretest.Key)) {
		t.Error("the key is in memory")
	}
	if idle.Until == 0 || idle.Until.Go().Before(start.Add(time.Duration(max(r.after-10, 1000))*time.Millisecond)) {
		t.Errorf("idle until %s (%+v), want a wait", idle.Until, idle.Reasons)
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests, want 1: when to try again is the runtime's matter", n)
	}
	a, err := perdure.Load(t.Context(), w.node.Store, w.id)
	if err != nil {
		t.Fatal(err)
	}
	again := &advisor.LLM{Model: p.model(s.URL, testKey), Store: w.node.Store, Tools: advisor.Specs(w.look)}
	next, err := again.Advise(t.Context(), a)
	if err != nil || next.Signal != 0 || len(next.Actions) != 1 || *next.Usage != ofDone[p.name][0] {
		t.Errorf("asked again: %+v, %v", next, err)
	}
}

func answered(t *testing.T, w *world, _ *wiretest.Server) {
	if got := w.fold().Ended.Result.Text(); got != "I see." {
		t.Errorf("its result is %q, want the answer", got)
	}
}

func lookedTwice(t *testing.T, w *world, s *wiretest.Server) {
	slices.Sort(w.look.calls)
	if diff := cmp.Diff([]string{"a", "b"}, w.look.calls); diff != "" {
		t.Errorf("calls of the tool (-want +got):\n%s", diff)
	}
	advice, _ := memory[perdure.Advice](w)
	if advice[0].Text != "I will look." || len(advice[0].Actions) != 2 {
		t.Errorf("advice is %+v, want the text and two calls", advice[0])
	}
	body := fmt.Sprint(s.Requests()[1])
	for _, want := range []string{"saw a", "saw b", "c1", "c2", "I will look."} {
		if !strings.Contains(body, want) {
			t.Errorf("the second request lacks %q", want)
		}
	}
	if advice[1].Shown == nil || advice[1].Shown.Count < 5 {
		t.Errorf("shown is %+v, want at least advice, two decisions, two outcomes", advice[1].Shown)
	}
}

func summarised(t *testing.T, w *world, s *wiretest.Server) {
	advice, _ := memory[perdure.Advice](w)
	if len(advice) != 3 || advice[1].Summary != "SUMMARY: saw a" || w.fold().Summary.IsZero() {
		t.Errorf("advice is %+v, want a summary in the second", advice)
	}
	if last := fmt.Sprint(s.Requests()[4]); !strings.Contains(last, "SUMMARY: saw a") ||
		!strings.Contains(last, "saw b") {
		t.Errorf("the last request lacks the summary or what came after: %s", last)
	}
}
