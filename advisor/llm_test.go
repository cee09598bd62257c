package advisor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/anthropic"
	"github.com/perdure/perdure/advisor/gemini"
	"github.com/perdure/perdure/advisor/openai"
	"github.com/perdure/perdure/internal/dev/wiretest"
)

// provider is a model and the server that speaks its protocol.
type provider struct {
	name  string
	start func(func(int, map[string]any) wiretest.Turn) (*wiretest.Server, error)
	model func(url string, key advisor.KeyFunc) advisor.Model
}

var providers = []provider{
	{"anthropic", wiretest.Anthropic, func(url string, key advisor.KeyFunc) advisor.Model {
		return anthropic.New("claude-opus-5-5", advisor.Endpoint{URL: url, Key: key})
	}},
	{"openai", wiretest.OpenAI, func(url string, key advisor.KeyFunc) advisor.Model {
		return openai.New("gpt-6-sol", advisor.Endpoint{URL: url + "/v1", Key: key})
	}},
	{"gemini", wiretest.Gemini, func(url string, key advisor.KeyFunc) advisor.Model {
		return gemini.New("gemini-2.5-pro", advisor.Endpoint{URL: url, Key: key})
	}},
}

// serve starts the server for the time of a test, which a request that a provider would refuse fails.
func (p provider) serve(t testing.TB, say func(int, map[string]any) wiretest.Turn) *wiretest.Server {
	t.Helper()
	s, err := p.start(say)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
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
	return newWorldOf(t, llm, "")
}

// newWorldOf is a world with an agent of a kind.
func newWorldOf(t testing.TB, llm *advisor.LLM, kind string) *world {
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
	a, err := w.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "look around", Kind: kind},
		Charter: perdure.Charter{Owner: key.Key(), Scope: "acme", Depth: 1}})
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

var done = wiretest.Turn{Calls: []wiretest.Call{{ID: "f1", Name: "finish",
	Args: []string{`{"result":`, `"all seen"}`}}}, In: 300, Out: 9, Cached: 200}

func TestNodeGoesOnAfterThrottling(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Status: 429, Kind: "rate_limit_error",
			Header: map[string]string{"Retry-After-Ms": "1"}}, done))
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
			wiretest.Turn{Calls: []wiretest.Call{{ID: "x1", Name: "no_such_tool", Args: []string{`{}`}},
				call("c1", "a")}, In: 10, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "x2", Name: "files_look", Args: []string{`{"path": `, `oops`}}},
				In: 10, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "x3", Name: "wait", Args: []string{`{"minutes": 3}`}}}, In: 10,
				Out: 1},
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
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Calls: []wiretest.Call{{ID: "x", Name: "nothing",
			Args: []string{"{}"}}}, In: 10, Out: 1}))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		idle := w.run()
		if n := len(s.Requests()); n != 3 || idle.Until != 0 {
			t.Errorf("%d requests and idle until %s (%+v), want 3 and until an event", n, idle.Until, idle.Reasons)
		}
		w.tell("try again")
		w.run()
		if n := len(s.Requests()); n != 6 {
			t.Errorf("%d requests after an event, want 3 more", n)
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
			wiretest.Turn{Think: "hmm, deep", Text: []string{"well"}, Calls: []wiretest.Call{call("c1", "a")}, In: 10,
				Out: 1}, done))
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
			wiretest.Turn{Calls: []wiretest.Call{{ID: "d1", Name: "delegate",
				Args: []string{`{"goal":"count","name":"counter"}`}}}, In: 1, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "q1", Name: "ask", Args: []string{`{"question":"how many?"}`}}},
				In: 1, Out: 1},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "w1", Name: "wait",
				Args: []string{`{"seconds":3600,"event":"message"}`}}}, In: 1, Out: 1},
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
		if _, err := w.node.Tell(t.Context(), w.id, perdure.Event{Name: perdure.AnswerEvent, By: "ada",
			Data: d}); err != nil {
			t.Fatal(err)
		}
		w.run()
		if got := fmt.Sprint(s.Requests()[2]); !strings.Contains(got, "forty-two") ||
			!strings.Contains(got, "how many?") {
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
		w = newWorldOf(t, &advisor.LLM{Model: p.model(s.URL, testKey)}, perdure.ChatKind)
		w.run()
		w.tell("and now?")
		idle := w.run()
		if f := w.fold(); f.Ended != nil || f.Turns != 2 || idle.Until != 0 {
			t.Errorf("ended %+v after %d turns, idle until %s; want it to wait for the next message", f.Ended, f.Turns,
				idle.Until)
		}
	})
}

// TestAChatGoesOnTurnByTurn: a plain answer ends a turn and not the agent, the model is shown both sides, and who talks
// to it need not wait until it wakes.
func TestAChatGoesOnTurnByTurn(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(
			wiretest.Turn{Text: []string{"hello ", "ada"}, In: 5, Out: 2},
			wiretest.Turn{Calls: []wiretest.Call{{ID: "w1", Name: "wait", Args: []string{`{"seconds":3600}`}}}, In: 5,
				Out: 2},
			wiretest.Turn{Text: []string{"as you like"}, In: 5, Out: 2}))
		w := newWorldOf(t, &advisor.LLM{Model: p.model(s.URL, testKey)}, perdure.ChatKind)
		say := func(text string) {
			t.Helper()
			if _, err := w.node.Say(t.Context(), w.id, text); err != nil {
				t.Fatal(err)
			}
			w.run()
		}
		if w.run(); len(s.Requests()) != 0 {
			t.Error("the model is asked before anybody has said anything")
		}
		say("good morning")
		if q, asks := w.fold().Question(time.Now()); !asks || q.Text != "hello ada" {
			t.Errorf("after a plain answer it asks %v %+v, want it to wait for the next word", asks, q)
		}
		say("wait an hour")
		if f := w.fold(); f.Sleep == nil {
			t.Fatal("it does not wait")
		}
		say("never mind")
		if f := w.fold(); f.Ended != nil || f.Turns != 4 || f.Sleep.Sleep.Note != "as you like" {
			t.Errorf("ended %+v, %d turns, sleep %+v; want it to have heard", f.Ended, f.Turns, f.Sleep)
		}
		last := fmt.Sprint(s.Requests()[2])
		for _, want := range []string{`[a person, "test", says] good morning`, "hello ada", `"test", says] never mind`,
			"3600"} {
			if !strings.Contains(last, want) {
				t.Errorf("the model is not shown %s: %s", want, last)
			}
		}
		if strings.Contains(last, "woke: event") && strings.Count(last, "woke") > 1 {
			t.Errorf("the model is told that it woke where somebody answered: %s", last)
		}
	})
}

func TestCutAnswerIsAskedForAgain(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(wiretest.Turn{Text: []string{"this goes on and"}, Length: true, In: 5, Out: 2},
			done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		advice, _ := memory[perdure.Advice](w)
		if len(advice) != 2 || advice[0].Signal != perdure.Partial || w.fold().Ended == nil {
			t.Errorf("advice is %+v, want a partial one and the end", advice)
		}
	})
}

// What the model is told about an empty answer is no word of the agent's.
func TestAnEmptyAnswerSaysNothing(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		empty := wiretest.Turn{In: 5, Out: 2}
		s := p.serve(t, wiretest.Turns(empty, empty, empty))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
		w.run()
		advice, _ := memory[perdure.Advice](w)
		for i, a := range advice {
			if a.Text != "" {
				t.Errorf("answer %d says %q, want nothing", i, a.Text)
			}
		}
		if len(advice) != 3 || advice[1].Signal != perdure.Partial || advice[2].Signal != 0 {
			t.Errorf("advice is %+v, want two that are partial, and one that waits", advice)
		}
	})
}

func TestNodeWithoutKeyIsIncapable(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(done))
		w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, advisor.KeyFromEnv("PERDURE_TEST_NO_SUCH_KEY"))})
		idle := w.run()
		if idle.Needs == "" || len(s.Requests()) != 0 {
			t.Errorf("idle %+v after %d requests, want it to need another node", idle, len(s.Requests()))
		}
	})
}

// TestWrongKeyIsIncapable: in whatever words the provider says so, it is not asked again with the same key.
func TestWrongKeyIsIncapable(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(done))
		m := p.model(s.URL, func() (string, error) { return "wrong", nil })
		w := newWorld(t, &advisor.LLM{Model: m})
		if idle := w.run(); idle.Needs == "" || len(s.Requests()) != 1 {
			t.Errorf("idle %+v after %d requests, want it to need another node after one", idle, len(s.Requests()))
		}
		r, ok := m.(interface{ Reach(context.Context) error })
		if !ok {
			t.Fatalf("%T cannot be reached", m)
		}
		if err := r.Reach(t.Context()); !errors.Is(err, perdure.ErrDenied) {
			t.Errorf("a wrong key is found to be %v, want denied", err)
		}
	})
}

// TestModelWithoutPriceDoesNotSpendABudget: what nobody knows the price of is no present.
func TestModelWithoutPriceDoesNotSpendABudget(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := p.serve(t, wiretest.Turns(done))
		limit := int64(1_000_000)
		for _, c := range []struct {
			name   string
			budget *perdure.Budget
			prices advisor.Prices
			cost   int64
			thinks bool
			noted  int
		}{
			{"a budget in money", &perdure.Budget{Cost: &limit}, nil, 0, false, 0},
			{"a budget in money and a price", &perdure.Budget{Cost: &limit},
				advisor.Prices{"unheard-of": {In: 2, Out: 10, Cached: 1}}, 490, true, 0},
			{"a budget in money, and it is free", &perdure.Budget{Cost: &limit}, advisor.Prices{"unheard-of": {}}, 0,
				true, 0},
			{"a budget in tokens", &perdure.Budget{Tokens: &limit}, nil, 0, true, 1},
			{"no budget", nil, nil, 0, true, 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				var log strings.Builder
				llm := &advisor.LLM{Model: renamed{p.model(s.URL, testKey), "unheard-of-1"}, Prices: c.prices,
					Log: slog.New(slog.NewTextHandler(&log, nil))}
				w := newWorld(t, llm)
				for range 2 {
					a, err := w.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "look",
						Budget: c.budget}, Charter: perdure.Charter{Owner: w.node.Key.Key(), Scope: "acme"}})
					if err != nil {
						t.Fatal(err)
					}
					w.id = a.ID()
					before := len(s.Requests())
					idle := w.run()
					f := w.fold()
					if !c.thinks {
						advice, _ := memory[perdure.Advice](w)
						if len(s.Requests()) != before || idle.Needs == "" || len(advice) != 1 ||
							!strings.Contains(advice[0].Text, "file of prices") ||
							!strings.Contains(advice[0].Text, "unheard-of-1") {
							t.Errorf("idle %+v after advice %+v, want one that says how to add a price", idle, advice)
						}
						continue
					}
					if f.Ended == nil || f.Spent.Cost != c.cost {
						t.Errorf("ended %+v at a cost of %d, want the end at %d", f.Ended, f.Spent.Cost, c.cost)
					}
				}
				if n := strings.Count(log.String(), "has no price"); n != c.noted {
					t.Errorf("noted %d times, want %d: %s", n, c.noted, log.String())
				}
			})
		}
	})
}

// TestAnswerIsNoLongerThanTheBudgetAllows: the last of a budget is not overdrawn by one long answer.
func TestAnswerIsNoLongerThanTheBudgetAllows(t *testing.T) {
	field := map[string]func(body map[string]any) any{
		"anthropic": func(b map[string]any) any { return b["max_tokens"] },
		"openai":    func(b map[string]any) any { return b["max_tokens"] },
		"gemini": func(b map[string]any) any {
			config, _ := b["generationConfig"].(map[string]any)
			return config["maxOutputTokens"]
		},
	}
	each(t, func(t *testing.T, p provider) {
		most := func(budget *perdure.Budget) float64 {
			s := p.serve(t, wiretest.Turns(done))
			w := newWorld(t, &advisor.LLM{Model: p.model(s.URL, testKey)})
			a, err := w.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "look", Budget: budget},
				Charter: perdure.Charter{Owner: w.node.Key.Key(), Scope: "acme"}})
			if err != nil {
				t.Fatal(err)
			}
			w.id = a.ID()
			w.run()
			n, _ := field[p.name](s.Requests()[0]).(float64)
			return n
		}
		amount := func(n int64) *int64 { return &n }
		free := most(nil)
		if got := most(&perdure.Budget{Tokens: amount(1_000_000), Cost: amount(1_000_000_000)}); got != free {
			t.Errorf("with much left it may answer with %v tokens, want %v as without a budget", got, free)
		}
		if got := most(&perdure.Budget{Tokens: amount(5000)}); got < 256 || got >= 5000 {
			t.Errorf("with 5000 tokens left it may answer with %v", got)
		}
		if got := most(&perdure.Budget{Cost: amount(50_000)}); got < 256 || got > 5000 {
			t.Errorf("with 5 cents left it may answer with %v tokens, which cost more", got)
		}
		if got := most(&perdure.Budget{Tokens: amount(10)}); got != 256 {
			t.Errorf("with 10 tokens left it may answer with %v, want a short answer", got)
		}
	})
}

// renamed is a model under another name.
type renamed struct {
	advisor.Model
	name string
}

func (m renamed) Name() string { return m.name }

// TestAgentMovesFromProviderToProvider: what one demanded to get back unchanged is not shown to another.
func TestAgentMovesFromProviderToProvider(t *testing.T) {
	for _, from := range providers {
		for _, to := range providers {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				t.Parallel()
				first := from.serve(t, wiretest.Turns(
					wiretest.Turn{Think: "hmm", Calls: []wiretest.Call{call("c1", "a"), call("c2", "b")}, In: 1,
						Out: 1},
					wiretest.Turn{Calls: []wiretest.Call{{ID: "w", Name: "wait",
						Args: []string{`{"event":"message"}`}}}, In: 1, Out: 1}))
				second := to.serve(t, wiretest.Turns(done))
				w := newWorld(t, &advisor.LLM{Model: from.model(first.URL, testKey)})
				w.run()
				w.tell("go on")
				moved := &advisor.LLM{Model: to.model(second.URL, testKey), Store: w.node.Store,
					Tools: advisor.Specs(w.look)}
				w.node = &perdure.Node{Store: w.node.Store, Key: w.node.Key, Policy: w.node.Policy, Tools: w.node.Tools,
					Advisors: map[string]perdure.Advisor{"": moved}}
				w.run()
				if f := w.fold(); f.Ended == nil || f.Ended.Signal != perdure.OK {
					t.Errorf("ended %+v, want ok", f.Ended)
				}
				if got := fmt.Sprint(second.Requests()[0]); !strings.Contains(got, "saw a") ||
					!strings.Contains(got, "go on") {
					t.Errorf("the second provider is not shown what happened: %s", got)
				}
			})
		}
	}
}
