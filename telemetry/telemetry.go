// Package telemetry makes traces and metrics of what a node does: spans and metrics with the names of OpenTelemetry's
// semantic conventions for generative AI, sent by OTLP over HTTP if there is somebody to send them to, and the same
// metrics in the text format of Prometheus.
//
// A span is part of the trace that the agent's entries carry. Spans and metrics say what was done, how long it took and
// how it ended; never what was said.
package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/trace"
)

// Config says where telemetry goes. The zero Config keeps it for /metrics.
type Config struct {
	Endpoint string            // of a collector that speaks OTLP over HTTP; none: nothing is sent
	Headers  map[string]string // for the collector
	Service  string            // its name; none: perdure
	Version  string            // of the program
	Every    time.Duration     // how often metrics are sent; zero: a minute
	Log      *slog.Logger      // nil: nothing is logged

	// Gauges are what is asked for when metrics are read.
	Gauges func(ctx context.Context) []Gauge
}

// Telemetry is a perdure.Observer.
type Telemetry struct {
	c        Config
	begun    time.Time
	families []*family

	cycles, cycleTime, advice, adviceTime, tokens, cost, calls, callTime, dropped *family

	out *exporter // nil: nothing is sent
}

var _ perdure.Observer = (*Telemetry)(nil)

// seconds are the buckets of durations, as the conventions for generative AI have them, and some below.
var seconds = []float64{0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48,
	40.96, 81.92}

// tokenBounds are the buckets of tokens, as the conventions have them.
var tokenBounds = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}

// New begins. Close ends it.
func New(c Config) (*Telemetry, error) {
	if c.Service == "" {
		c.Service = "perdure"
	}
	if c.Every <= 0 {
		c.Every = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	t := &Telemetry{c: c, begun: time.Now()}
	add := func(f *family) *family {
		t.families = append(t.families, f)
		return f
	}
	model := []label{{"provider", "gen_ai.provider.name"}, {"model", "gen_ai.request.model"}}
	t.cycles = add(&family{name: "perdure_cycles_total", otlp: "perdure.cycles", unit: "{cycle}",
		help: "Steps done for agents, by kind.", labels: []label{{"step", "perdure.step"}}})
	t.cycleTime = add(&family{name: "perdure_cycle_duration_seconds", otlp: "perdure.cycle.duration", unit: "s",
		help: "How long steps took.", bounds: seconds})
	t.advice = add(&family{name: "perdure_advice_total", otlp: "perdure.advice", unit: "{request}",
		help: "Questions to advisors, by how they ended.", labels: append(model, label{"signal", "perdure.signal"})})
	t.adviceTime = add(&family{name: "perdure_advice_duration_seconds", otlp: "gen_ai.client.operation.duration",
		unit: "s", help: "How long advisors took.",
		labels: append([]label{{"operation", "gen_ai.operation.name"}}, model...), bounds: seconds})
	t.tokens = add(&family{name: "perdure_token_usage", otlp: "gen_ai.client.token.usage", unit: "{token}",
		help:   "Tokens per question; the sum is all of them.",
		labels: append([]label{{"operation", "gen_ai.operation.name"}, {"type", "gen_ai.token.type"}}, model...),
		bounds: tokenBounds})
	t.cost = add(&family{name: "perdure_cost_dollars_total", otlp: "perdure.cost", unit: "{USD}",
		help: "What advisors cost, in US dollars.", labels: model})
	t.calls = add(&family{name: "perdure_tool_calls_total", otlp: "perdure.tool.calls", unit: "{call}",
		help: "Calls of tools, by how they ended.", labels: []label{{"tool", "gen_ai.tool.name"},
			{"signal", "perdure.signal"}}})
	t.callTime = add(&family{name: "perdure_tool_duration_seconds", otlp: "perdure.tool.duration", unit: "s",
		help: "How long tools took.", labels: []label{{"tool", "gen_ai.tool.name"}}, bounds: seconds})
	t.dropped = add(&family{name: "perdure_spans_dropped_total", otlp: "perdure.spans.dropped", unit: "{span}",
		help: "Spans that could not be sent."})
	if c.Endpoint != "" {
		var err error
		if t.out, err = newExporter(t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Sends reports whether there is a collector to send to.
func (t *Telemetry) Sends() bool { return t.out != nil }

// Close sends what is left, until ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.out == nil {
		return nil
	}
	return t.out.close(ctx)
}

// ServeHTTP answers with the metrics in the text format of Prometheus.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = writeAll(w, t.families, t.gauges(r.Context())) // who has gone needs no answer
}

func (t *Telemetry) gauges(ctx context.Context) []Gauge {
	all := []Gauge{
		{"process_start_time_seconds", "When the process began, in seconds since 1970.",
			float64(t.begun.UnixMilli()) / 1000},
		{"go_goroutines", "Goroutines there are.", float64(runtime.NumGoroutine())},
	}
	if t.c.Gauges != nil {
		all = append(all, t.c.Gauges(ctx)...)
	}
	return all
}

// span is one operation of a trace.
type span struct {
	trace, parent, id string // hex; no parent: it is the first
	name              string
	begun, ended      time.Time
	attributes        []attribute
	failed            string // why; empty: it went well
	client            bool   // somebody else is asked
}

// attribute is a name and a string or int64.
type attribute struct {
	name  string
	value any
}

type spanKey struct{}

// Begin implements perdure.Observer.
func (t *Telemetry) Begin(ctx context.Context, b perdure.Begun) (context.Context, func(perdure.Over)) {
	s := &span{begun: time.Now()}
	if t.out != nil {
		ctx = s.join(ctx)
		s.describe(&b)
	}
	return ctx, func(o perdure.Over) {
		s.ended = time.Now()
		t.count(&b, &o, s.ended.Sub(s.begun))
		if t.out != nil && o.Step != phase.StepIdle && !errors.Is(o.Err, context.Canceled) {
			s.finish(&b, &o)
			t.out.put(s)
		}
	}
}

// join finds the trace and the parent of a span, and makes it the parent of what is done under the context. The parent
// is the operation it is part of, if that is of the same trace, else the entry that it is done on account of.
func (s *span) join(ctx context.Context) context.Context {
	s.id = randomHex(8)
	if parts := strings.Split(trace.Parent(ctx), "-"); len(parts) == 4 {
		s.trace, s.parent = parts[1], parts[2]
	}
	if above, ok := ctx.Value(spanKey{}).(*span); ok && (s.trace == "" || s.trace == above.trace) {
		s.trace, s.parent = above.trace, above.id
	}
	if s.trace == "" {
		s.trace = randomHex(16)
	}
	ctx = context.WithValue(ctx, spanKey{}, s)
	if named, err := trace.With(ctx, "00-"+s.trace+"-"+s.id+"-01"); err == nil {
		ctx = named
	}
	return ctx
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func (s *span) set(name string, value any) {
	s.attributes = append(s.attributes, attribute{name, value})
}

// describe says what a span is about, with the attribute names of semantic conventions v1.41.0.
func (s *span) describe(b *perdure.Begun) {
	s.set("gen_ai.agent.id", b.Agent.String())
	if b.Name != "" {
		s.set("gen_ai.agent.name", b.Name)
	}
	switch b.What {
	case phase.StepCycle:
		s.name = "invoke_agent"
		s.set("gen_ai.operation.name", "invoke_agent")
		s.set("gen_ai.provider.name", "perdure")
	case phase.StepConsult:
		s.name, s.client = "chat", true
		s.set("gen_ai.operation.name", "chat")
		if b.Advisor != "" {
			s.set("perdure.advisor", b.Advisor)
		}
	case phase.StepPerform:
		s.name = "execute_tool " + b.Tool
		s.set("gen_ai.operation.name", "execute_tool")
		s.set("gen_ai.tool.name", b.Tool)
		s.set("gen_ai.tool.call.id", b.Decision.String())
	}
}

// finish says how it ended.
func (s *span) finish(b *perdure.Begun, o *perdure.Over) {
	if o.Step != "" {
		s.name += " " + string(o.Step)
		s.set("perdure.step", string(o.Step))
	}
	if b.What == phase.StepConsult {
		s.set("gen_ai.provider.name", providerOf(o.Model))
	}
	if o.Model != "" {
		s.name += " " + o.Model
		s.set("gen_ai.request.model", o.Model)
	}
	if u := o.Usage; u != nil {
		s.set("gen_ai.usage.input_tokens", u.In)
		s.set("gen_ai.usage.output_tokens", u.Out)
		if u.Cached > 0 {
			s.set("gen_ai.usage.cache_read.input_tokens", u.Cached)
		}
	}
	if signal := signalOf(b, o); signal != perdure.OK.String() && signal != "" {
		s.failed = signal
		s.set("error.type", signal)
	}
}

// signalOf is how something ended; empty for a cycle that went well.
func signalOf(b *perdure.Begun, o *perdure.Over) string {
	switch {
	case o.Err != nil && errors.Is(o.Err, perdure.ErrInDoubt):
		return "in-doubt"
	case o.Err != nil && errors.Is(o.Err, context.DeadlineExceeded):
		return perdure.TimedOut.String()
	case o.Err != nil:
		return perdure.Failed.String()
	case b.What == phase.StepCycle:
		return ""
	case o.Signal == 0:
		return perdure.OK.String()
	}
	return o.Signal.String()
}

// count adds what was done to the metrics.
func (t *Telemetry) count(b *perdure.Begun, o *perdure.Over, took time.Duration) {
	switch b.What {
	case phase.StepCycle:
		if t.cycles.add(1, string(o.Step)); o.Step != phase.StepIdle {
			t.cycleTime.add(took.Seconds())
		}
	case phase.StepConsult:
		provider, model := providerOf(o.Model), o.Model
		t.advice.add(1, provider, model, signalOf(b, o))
		t.adviceTime.add(took.Seconds(), "chat", provider, model)
		if u := o.Usage; u != nil {
			t.tokens.add(float64(u.In), "chat", "input", provider, model)
			t.tokens.add(float64(u.Out), "chat", "output", provider, model)
			t.cost.add(float64(u.Cost)/1e6, provider, model)
		}
	case phase.StepPerform:
		t.calls.add(1, b.Tool, signalOf(b, o))
		t.callTime.add(took.Seconds(), b.Tool)
	}
}

// providerOf is whose model it is, as the conventions call them; what is no model of theirs is perdure's own: a script,
// or a Go function.
func providerOf(model string) string {
	for prefix, name := range map[string]string{"claude": "anthropic", "gpt": "openai", "o1": "openai", "o3": "openai",
		"o4": "openai", "chatgpt": "openai", "gemini": "gcp.gemini", "mistral": "mistral_ai", "deepseek": "deepseek"} {
		if strings.HasPrefix(model, prefix) {
			return name
		}
	}
	if model == "" {
		return "perdure"
	}
	return "_OTHER"
}
