package advisor_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/internal/wiretest"
)

// provider is a model and the server that speaks its protocol.
type provider struct {
	name  string
	serve func(testing.TB, func(int, map[string]any) wiretest.Turn) *wiretest.Server
	model func(url string, key advisor.KeyFunc) advisor.Model
}

var providers = []provider{
	{"anthropic", wiretest.Anthropic, func(url string, key advisor.KeyFunc) advisor.Model {
		return advisor.Anthropic{Model: "claude-opus-5-5", BaseURL: url, Key: key}
	}},
	{"openai", wiretest.OpenAI, func(url string, key advisor.KeyFunc) advisor.Model {
		return advisor.OpenAI{Model: "gpt-6-sol", BaseURL: url + "/v1", Key: key}
	}},
	{"gemini", wiretest.Gemini, func(url string, key advisor.KeyFunc) advisor.Model {
		return advisor.Gemini{Model: "gemini-2.5-pro", BaseURL: url, Key: key}
	}},
}

func testKey() (string, error) { return wiretest.Key, nil }

// look is a tool that says what it was asked.
type look struct {
	mu    sync.Mutex
	calls []string
	say   string
}

func (l *look) Spec() perdure.Spec {
	schema, err := perdure.DataFromJSON([]byte(`{"type":"object","properties":{"path":{"type":"string"}}}`))
	if err != nil {
		panic(err)
	}
	return perdure.Spec{Name: "files.look", Description: "looks", Args: schema, Effect: perdure.Read}
}

func (l *look) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	args, _ := c.Args.Value().(map[string]any)
	path := fmt.Sprint(args["path"])
	l.mu.Lock()
	l.calls = append(l.calls, path)
	l.mu.Unlock()
	d, err := perdure.DataOf("saw " + path + l.say)
	return perdure.Result{Data: d}, err
}

// world is a node with an LLM and an agent.
type world struct {
	t    testing.TB
	node *perdure.Node
	id   perdure.AgentID
	look *look
}

func newWorld(t testing.TB, llm *advisor.LLM) *world {
	t.Helper()
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, look: &look{}}
	store := new(perdure.MemStore)
	llm.Store, llm.Tools = store, advisor.Specs(w.look)
	w.node = &perdure.Node{
		Store: store, Key: key, Tools: []perdure.Tool{w.look}, Advisors: map[string]perdure.Advisor{"": llm},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
		}),
	}
	a, err := w.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "look around"}, Charter: perdure.Charter{Owner: key.Key(), Scope: "acme", Depth: 1}})
	if err != nil {
		t.Fatal(err)
	}
	w.id = a.ID()
	return w
}

func (w *world) run() perdure.Idle {
	w.t.Helper()
	idle, err := w.node.RunAgent(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return idle
}

func (w *world) fold() *perdure.Fold {
	w.t.Helper()
	a, err := perdure.Load(w.t.Context(), w.node.Store, w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Fold()
}

func (w *world) tell(text string) {
	w.t.Helper()
	d, err := perdure.DataOf(text)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.node.Tell(w.t.Context(), w.id, perdure.Event{Name: "message", By: "ada", Data: d}); err != nil {
		w.t.Fatal(err)
	}
}

// memory is the bodies of a kind, in order, and all bytes.
func memory[B perdure.Body](w *world) (bodies []B, raw []byte) {
	w.t.Helper()
	for e, err := range perdure.Memory(w.t.Context(), w.node.Store, w.id) {
		if err != nil {
			w.t.Fatal(err)
		}
		if b, ok := e.Content().(B); ok {
			bodies = append(bodies, b)
		}
		if raw, err = e.AppendBinary(raw); err != nil {
			w.t.Fatal(err)
		}
	}
	return bodies, raw
}

// each runs a test against every provider.
func each(t *testing.T, test func(t *testing.T, p provider)) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func call(id, path string) wiretest.Call {
	return wiretest.Call{ID: id, Name: "files_look", Args: []string{`{"pa`, `th":"`, path, `"}`}}
}

var done = wiretest.Turn{Calls: []wiretest.Call{{ID: "f1", Name: "finish", Args: []string{`{"result":`, `"all seen"}`}}}, In: 300, Out: 9, Cached: 200}

func TestParallelCallsInFragmentsBecomeOneAdvice(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Text: []string{"I will ", "look."}, Calls: []wiretest.Call{call("c1", "a"), call("c2", "b")}, In: 100, Out: 20, Cached: 60, Written: 0},
			done))
		var live strings.Builder
		llm := &advisor.LLM{Model: p.model(s.URL, testKey), Live: func(_ perdure.AgentID, text string) { live.WriteString(text) }}
		w := newWorld(t, llm)
		w.run()
		f := w.fold()
		if f.Ended == nil || f.Ended.Signal != perdure.OK || f.Ended.Result.Text() != "all seen" {
			t.Fatalf("ended %+v, want ok with the result", f.Ended)
		}
		slices.Sort(w.look.calls)
		if diff := cmp.Diff([]string{"a", "b"}, w.look.calls); diff != "" {
			t.Errorf("calls of the tool (-want +got):\n%s", diff)
		}
		if live.String() != "I will look." {
			t.Errorf("live text is %q", live.String())
		}
		advice, _ := memory[perdure.Advice](w)
		if len(advice) != 2 || advice[0].Text != "I will look." || len(advice[0].Actions) != 2 {
			t.Fatalf("advice is %+v", advice)
		}
		for i, want := range []perdure.Usage{{In: 100, Out: 20, Cached: 60}, {In: 300, Out: 9, Cached: 200}} {
			got := *advice[i].Usage
			if got.Cost == 0 {
				t.Errorf("advice %d cost nothing", i)
			}
			got.Cost = 0
			if got != want {
				t.Errorf("usage of advice %d is %+v, want %+v", i, got, want)
			}
			if advice[i].Signal != 0 || advice[i].Model != llm.Model.Name() {
				t.Errorf("advice %d has signal %s and model %q", i, advice[i].Signal, advice[i].Model)
			}
		}
		if f.Spent.Tokens != 429 {
			t.Errorf("%d tokens are spent, want 429", f.Spent.Tokens)
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
	})
}

// TestTroubleBecomesASignal: whatever the provider does, the agent sleeps with a recorded signal, and goes on when it is asked again.
func TestTroubleBecomesASignal(t *testing.T) {
	wait := map[string]string{"Retry-After": "7"}
	for _, c := range []struct {
		name   string
		turn   wiretest.Turn
		signal perdure.Signal
		after  int64
		tokens map[string]int64 // counted all the same, where the protocol tells before the trouble
	}{
		{"429 with retry-after", wiretest.Turn{Status: 429, Kind: "rate_limit_error", Message: "slow down", Header: wait}, perdure.Throttled, 7000, nil},
		{"429 in milliseconds", wiretest.Turn{Status: 429, Kind: "rate_limit_error", Header: map[string]string{"Retry-After-Ms": "1500"}}, perdure.Throttled, 1500, nil},
		{"529", wiretest.Turn{Status: 529, Kind: "overloaded_error", Message: "Overloaded"}, perdure.Throttled, 0, nil},
		{"503 with retry-after", wiretest.Turn{Status: 503, Kind: "server_error", Header: wait}, perdure.Throttled, 7000, nil},
		{"500", wiretest.Turn{Status: 500, Kind: "api_error", Message: "oh"}, perdure.Failed, 0, nil},
		{"504", wiretest.Turn{Status: 504, Kind: "timeout_error"}, perdure.TimedOut, 0, nil},
		{"401 that repeats the key", wiretest.Turn{Status: 401, Kind: "authentication_error", Message: "bad key " + wiretest.Key}, perdure.Failed, 0, nil},
		{"400 that repeats the key", wiretest.Turn{Status: 400, Kind: "invalid_request_error", Message: "odd " + wiretest.Key}, perdure.Failed, 0, nil},
		{"overload inside the stream", wiretest.Turn{Midway: true, Status: 503, Kind: "overloaded_error", Message: "Overloaded", In: 50}, perdure.Throttled, 0, map[string]int64{"anthropic": 51}},
		{"malformed JSON", wiretest.Turn{Text: []string{"a", "b"}, Malformed: true, In: 50, Out: 2}, perdure.Failed, 0, map[string]int64{"anthropic": 51, "gemini": 52}},
		{"cut stream", wiretest.Turn{Text: []string{"a", "b"}, Cut: true, In: 50, Out: 2}, perdure.Failed, 0, map[string]int64{"anthropic": 51, "gemini": 52}},
		{"short stream", wiretest.Turn{Text: []string{"a", "b"}, Short: true, In: 50, Out: 2}, perdure.Failed, 0, map[string]int64{"anthropic": 51, "gemini": 52}},
		{"short of a call", wiretest.Turn{Calls: []wiretest.Call{call("c1", "a")}, Short: true, In: 50, Out: 2}, perdure.Failed, 0, map[string]int64{"anthropic": 51, "gemini": 52}},
		{"cut in a call", wiretest.Turn{Calls: []wiretest.Call{call("c1", "a")}, Cut: true, In: 50, Out: 2}, perdure.Failed, 0, map[string]int64{"anthropic": 51, "gemini": 52}},
		{"refusal", wiretest.Turn{Refusal: "I must decline", In: 50, Out: 2}, perdure.Failed, 0, map[string]int64{"anthropic": 52, "openai": 52, "gemini": 52}},
		{"silence", wiretest.Turn{Hang: true}, perdure.TimedOut, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, p provider) {
				s := p.serve(t, wiretest.Turns(c.turn, done))
				llm := &advisor.LLM{Model: p.model(s.URL, testKey)}
				if c.turn.Hang {
					llm.Timeout = 100 * time.Millisecond
				}
				w := newWorld(t, llm)
				start := time.Now()
				idle := w.run()
				advice, raw := memory[perdure.Advice](w)
				if len(advice) != 1 || advice[0].Signal != c.signal || advice[0].RetryAfter != c.after {
					t.Fatalf("advice is %+v, want one with signal %s and retry-after %d", advice, c.signal, c.after)
				}
				if bytes.Contains(raw, []byte(wiretest.Key)) {
					t.Error("the key is in memory")
				}
				if advice[0].Text == "" {
					t.Error("the advice does not say why")
				}
				if idle.Until == 0 || idle.Until.Go().Before(start.Add(time.Duration(max(c.after-10, 1000))*time.Millisecond)) {
					t.Errorf("idle until %s (%s), want a wait", idle.Until, idle.Why)
				}
				if got, want := w.fold().Spent.Tokens, c.tokens[p.name]; got != want {
					t.Errorf("%d tokens are counted, want %d", got, want)
				}
				if n := len(s.Requests()); n != 1 {
					t.Errorf("%d requests, want 1: when to try again is the runtime's matter", n)
				}
				// Asked again, it goes on.
				a, err := perdure.Load(t.Context(), w.node.Store, w.id)
				if err != nil {
					t.Fatal(err)
				}
				patient := &advisor.LLM{Model: llm.Model, Store: llm.Store, Tools: llm.Tools}
				next, err := patient.Advise(t.Context(), a)
				if err != nil || next.Signal != 0 || len(next.Actions) != 1 {
					t.Errorf("asked again: %+v, %v", next, err)
				}
			})
		})
	}
}

func TestNodeGoesOnAfterThrottling(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Status: 429, Kind: "rate_limit_error", Header: map[string]string{"Retry-After-Ms": "1"}}, done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		for w.fold().Ended == nil {
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
			w.run()
		}
		if tools := w.fold().Tool("advisor:"); tools == nil || tools.Last[0].Signal != perdure.Throttled {
			t.Errorf("signals are %+v, want the throttling on record", tools)
		}
	})
}

func TestBadCallsAreReportedBack(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Calls: []wiretest.Call{{ID: "x1", Name: "no_such_tool", Args: []string{`{}`}}, call("c1", "a")}, In: 10, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "x2", Name: "files_look", Args: []string{`{"path": `, `oops`}}}, In: 10, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "x3", Name: "wait", Args: []string{`{"minutes": 3}`}}}, In: 10, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{call("c1", "again")}, In: 10, Out: 1}, // an id it used before
			done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		f := w.fold()
		if f.Ended == nil || f.Ended.Signal != perdure.OK {
			t.Fatalf("ended %+v, want ok", f.Ended)
		}
		if diff := cmp.Diff([]string{"a", "again"}, w.look.calls); diff != "" {
			t.Errorf("calls of the tool (-want +got):\n%s", diff)
		}
		reqs := s.Requests()
		if got := fmt.Sprint(reqs[1]); !strings.Contains(got, "there is no tool") || !strings.Contains(got, "saw a") {
			t.Errorf("the model is not told what was wrong: %s", got)
		}
		if got := fmt.Sprint(reqs[3]); !strings.Contains(got, "minutes") {
			t.Errorf("the model is not told what was wrong: %s", got)
		}
		advice, _ := memory[perdure.Advice](w)
		ids := map[string]bool{}
		for _, a := range advice {
			for _, act := range a.Actions {
				if x, ok := act.(perdure.Execute); ok {
					if ids[x.Call] {
						t.Errorf("id %s is used twice", x.Call)
					}
					ids[x.Call] = true
				}
			}
		}
	})
}

func TestModelThatLeadsNowhereIsNotAskedForEver(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Calls: []wiretest.Call{{ID: "x", Name: "nothing", Args: []string{"{}"}}}, In: 10, Out: 1}))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		idle := w.run()
		if n := len(s.Requests()); n != 3 || idle.Until != 0 {
			t.Errorf("%d requests and idle until %s (%s), want 3 and until an event", n, idle.Until, idle.Why)
		}
		w.tell("try again")
		w.run()
		if n := len(s.Requests()); n != 6 {
			t.Errorf("%d requests after an event, want 3 more", n)
		}
	})
}

func TestOverflowIsSummarisedAndAskedAgainOnce(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		over := wiretest.Turn{Status: 400, Kind: wiretest.Overflow}
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Calls: []wiretest.Call{call("c1", "a")}, In: 10, Out: 1},
			over,
			wiretest.Turn{Text: []string{"SUMMARY: saw a"}, In: 20, Out: 2},
			wiretest.Turn{Calls: []wiretest.Call{call("c2", "b")}, In: 30, Out: 3},
			done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		f := w.fold()
		if f.Ended == nil || f.Ended.Signal != perdure.OK {
			t.Fatalf("ended %+v, want ok", f.Ended)
		}
		advice, _ := memory[perdure.Advice](w)
		if len(advice) != 3 || advice[1].Summary != "SUMMARY: saw a" || f.Summary.IsZero() {
			t.Fatalf("advice is %+v, want a summary in the second", advice)
		}
		if u := advice[1].Usage; u.In != 50 || u.Out != 5 {
			t.Errorf("usage is %+v, want that of the summary and the answer", u)
		}
		if last := fmt.Sprint(s.Requests()[4]); !strings.Contains(last, "SUMMARY: saw a") || !strings.Contains(last, "saw b") {
			t.Errorf("the last request lacks the summary or what came after: %s", last)
		}
	})
}

func TestOverflowThatStaysWaitsInTheEnd(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Status: 400, Kind: wiretest.Overflow}))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		advice, _ := memory[perdure.Advice](w)
		if len(advice) != 1 || advice[0].Signal != perdure.Failed || len(s.Requests()) > 3 {
			t.Errorf("advice is %+v after %d requests, want one failure", advice, len(s.Requests()))
		}
	})
}

func TestThoughtsGoBackUnchanged(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Think: "hmm, deep", Text: []string{"well"}, Calls: []wiretest.Call{call("c1", "a")}, In: 10, Out: 1}, done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		if w.fold().Ended == nil {
			t.Fatal("it did not end")
		}
		want := map[string]string{"anthropic": "hmm, deep", "gemini": "c2lnbmVk", "openai": "well"}[p.name]
		if got := fmt.Sprint(s.Requests()[1]); !strings.Contains(got, want) {
			t.Errorf("the second request lacks %q: %s", want, got)
		}
	})
}

func TestBuiltinsBecomeActions(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Calls: []wiretest.Call{{ID: "d1", Name: "delegate", Args: []string{`{"goal":"count","name":"counter"}`}}}, In: 1, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "q1", Name: "ask", Args: []string{`{"question":"how many?"}`}}}, In: 1, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "w1", Name: "wait", Args: []string{`{"seconds":3600,"event":"message"}`}}}, In: 1, Out: 1},
			done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		f := w.fold()
		if len(f.Children) != 1 || f.Sleep == nil || f.Sleep.Sleep.Note != "how many?" {
			t.Fatalf("children %+v, sleep %+v; want a child and a question", f.Children, f.Sleep)
		}
		d, err := perdure.DataOf("forty-two")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.node.Tell(t.Context(), w.id, perdure.Event{Name: advisor.AnswerEvent, By: "ada", Data: d}); err != nil {
			t.Fatal(err)
		}
		w.run()
		if got := fmt.Sprint(s.Requests()[2]); !strings.Contains(got, "forty-two") || !strings.Contains(got, "how many?") {
			t.Errorf("the model does not see question and answer: %s", got)
		}
		if f := w.fold(); f.Sleep == nil {
			t.Fatal("it does not wait")
		}
		w.tell("go")
		w.run()
		if f := w.fold(); f.Ended == nil || f.Ended.Signal != perdure.OK {
			t.Errorf("ended %+v, want ok", f.Ended)
		}
	})
}

func TestAnswerWithoutCallEndsOrWaits(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Text: []string{"it is ", "done"}, In: 5, Out: 2}))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		if f := w.fold(); f.Ended == nil || f.Ended.Result.Text() != "it is done" {
			t.Errorf("ended %+v, want the answer as the result", f.Ended)
		}
		w = newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey), Converse: true})
		w.run()
		w.tell("and now?")
		idle := w.run()
		if f := w.fold(); f.Ended != nil || f.Turns != 2 || idle.Until != 0 {
			t.Errorf("ended %+v after %d turns, idle until %s; want it to wait for the next message", f.Ended, f.Turns, idle.Until)
		}
	})
}

func TestCutAnswerIsAskedForAgain(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Text: []string{"this goes on and"}, Length: true, In: 5, Out: 2}, done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		advice, _ := memory[perdure.Advice](w)
		if len(advice) != 2 || advice[0].Signal != perdure.Partial || w.fold().Ended == nil {
			t.Errorf("advice is %+v, want a partial one and the end", advice)
		}
	})
}

func TestNodeWithoutKeyIsIncapable(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, advisor.KeyFromEnv("PERDURE_TEST_NO_SUCH_KEY"))})
		idle := w.run()
		if idle.Cannot == "" || len(s.Requests()) != 0 {
			t.Errorf("idle %+v after %d requests, want it to need another node", idle, len(s.Requests()))
		}
	})
}

// TestAgentMovesFromProviderToProvider: what one demanded to get back unchanged is not shown to another.
func TestAgentMovesFromProviderToProvider(t *testing.T) {
	for _, from := range providers {
		for _, to := range providers {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				t.Parallel()
				first := from.serve(t, wiretest.Turns(
					wiretest.Turn{Think: "hmm", Calls: []wiretest.Call{call("c1", "a"), call("c2", "b")}, In: 1, Out: 1},
					wiretest.Turn{Calls: []wiretest.Call{{ID: "w", Name: "wait", Args: []string{`{"event":"message"}`}}}, In: 1, Out: 1}))
				second := to.serve(t, wiretest.Turns(done))
				w := newWorld(t, &advisor.LLM{Model: from.model(first.URL, testKey)})
				w.run()
				w.tell("go on")
				moved := &advisor.LLM{Model: to.model(second.URL, testKey), Store: w.node.Store, Tools: advisor.Specs(w.look)}
				w.node = &perdure.Node{Store: w.node.Store, Key: w.node.Key, Policy: w.node.Policy, Tools: w.node.Tools, Advisors: map[string]perdure.Advisor{"": moved}}
				w.run()
				if f := w.fold(); f.Ended == nil || f.Ended.Signal != perdure.OK {
					t.Errorf("ended %+v, want ok", f.Ended)
				}
				if got := fmt.Sprint(second.Requests()[0]); !strings.Contains(got, "saw a") || !strings.Contains(got, "go on") {
					t.Errorf("the second provider is not shown what happened: %s", got)
				}
			})
		}
	}
}
