package telemetry_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/telemetry"
	"github.com/perdure/perdure/trace"
)

// collector takes OTLP over HTTP and keeps what it decodes.
type collector struct {
	t       *testing.T
	url     string
	mu      sync.Mutex
	spans   []*spans.Span
	metrics map[string]*metrics.Metric
	service string
	busy    int // how many requests it refuses first
}

func newCollector(t *testing.T, busy int) *collector {
	c := &collector{t: t, metrics: map[string]*metrics.Metric{}, busy: busy}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 {
		c.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(r.Body)
	if r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Authorization") != "Bearer x" ||
		err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/v1/traces":
		var m collectortrace.ExportTraceServiceRequest
		if err = proto.Unmarshal(body, &m); err == nil {
			for _, rs := range m.ResourceSpans {
				c.service = value(rs.Resource.Attributes, "service.name")
				for _, s := range rs.ScopeSpans {
					c.spans = append(c.spans, s.Spans...)
				}
			}
		}
	case "/v1/metrics":
		var m collectormetrics.ExportMetricsServiceRequest
		if err = proto.Unmarshal(body, &m); err == nil {
			for _, one := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
				c.metrics[one.Name] = one
			}
		}
	}
	if err != nil {
		c.t.Error(err)
	}
}

func value(all []*common.KeyValue, name string) string {
	for _, a := range all {
		if a.Key == name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func number(all []*common.KeyValue, name string) int64 {
	for _, a := range all {
		if a.Key == name {
			return a.Value.GetIntValue()
		}
	}
	return -1
}

// look is a tool that remembers the traceparent it was called under, and fails the second time.
type look struct{ under []string }

func (*look) Spec() perdure.Spec { return perdure.Spec{Name: "look", Effect: perdure.Read} }
func (l *look) Call(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
	if l.under = append(l.under, trace.Parent(ctx)); len(l.under) == 2 {
		return perdure.Result{}, errors.New("secret words")
	}
	return perdure.Result{}, nil
}

// ran runs an agent that looks twice and ends, under an observer.
func ran(t *testing.T, o perdure.Observer, l *look) (*perdure.Node, perdure.AgentID) {
	t.Helper()
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{
		Store: new(perdure.MemStore), Key: key, Tools: []perdure.Tool{l}, Observer: o,
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				act := perdure.Action(perdure.Execute{Tool: "look"})
				if a.Fold().Turns >= 2 {
					act = perdure.End{Signal: perdure.OK}
				}
				return perdure.Advice{Actions: []perdure.Action{act}, Model: "claude-test", Text: "secret words",
					Usage: &perdure.Usage{In: 100, Out: 20, Cost: 1_500_000}}, nil
			})},
	}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "topsecretname", Goal: "look"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	return n, a.ID()
}

func TestSpansArePartOfTheTraceOfTheEntries(t *testing.T) {
	c := newCollector(t, 1) // busy at first
	tel, err := telemetry.New(telemetry.Config{Endpoint: c.url + "/",
		Headers: map[string]string{"Authorization": "Bearer x"}, Service: "shop", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	l := &look{}
	n, id := ran(t, tel, l)
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, err := n.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if c.service != "shop" || len(c.spans) == 0 {
		t.Fatalf("%d spans of %q", len(c.spans), c.service)
	}
	byID, names := map[string]*spans.Span{}, map[string]int{}
	for _, s := range c.spans {
		byID[hex.EncodeToString(s.SpanId)] = s
		names[s.Name]++
		if got := hex.EncodeToString(s.TraceId); got != a.Fold().Trace.String() {
			t.Errorf("%s is part of trace %s, want that of the entries, %s", s.Name, got, a.Fold().Trace)
		}
		if value(s.Attributes, "gen_ai.agent.id") != id.String() || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s: %v", s.Name, s)
		}
		if strings.Contains(s.String(), "secret words") {
			t.Errorf("%s says what was said", s.Name)
		}
	}
	if names["chat claude-test"] != 3 || names["execute_tool look"] != 2 || names["invoke_agent consult"] != 3 ||
		names["invoke_agent idle"] != 0 {
		t.Errorf("spans: %v", names)
	}
	failed := 0
	for _, s := range c.spans {
		above := byID[hex.EncodeToString(s.ParentSpanId)]
		switch {
		case strings.HasPrefix(s.Name, "invoke_agent"):
			if above != nil || len(s.ParentSpanId) != 8 {
				t.Errorf("%s is below %v, want an entry", s.Name, above)
			}
		case above == nil || !strings.HasPrefix(above.Name, "invoke_agent"):
			t.Errorf("%s is below %v, want a cycle", s.Name, above)
		}
		if strings.HasPrefix(s.Name, "chat") && (value(s.Attributes, "gen_ai.operation.name") != "chat" ||
			value(s.Attributes, "gen_ai.provider.name") != "anthropic" ||
			value(s.Attributes, "gen_ai.request.model") != "claude-test" ||
			number(s.Attributes, "gen_ai.usage.input_tokens") != 100 ||
			number(s.Attributes, "gen_ai.usage.output_tokens") != 20) {
			t.Errorf("%s has %v", s.Name, s.Attributes)
		}
		if s.Status.Code == spans.Status_STATUS_CODE_ERROR {
			failed++
			if s.Name != "execute_tool look" || value(s.Attributes, "error.type") != "failed" {
				t.Errorf("%s failed: %v", s.Name, s)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d spans failed, want 1", failed)
	}
	for _, parent := range l.under { // whoever is called goes on from the span of the call
		if s := byID[strings.Split(parent, "-")[2]]; s == nil || s.Name != "execute_tool look" {
			t.Errorf("a tool was called under %s, which is the span %v", parent, s)
		}
	}
	usage := c.metrics["gen_ai.client.token.usage"].GetHistogram()
	if usage == nil || len(usage.DataPoints) != 2 || usage.DataPoints[0].GetSum() != 300 ||
		usage.DataPoints[0].Count != 3 {
		t.Errorf("token usage: %v", usage)
	}
	if c.metrics["gen_ai.client.operation.duration"].GetHistogram() == nil ||
		c.metrics["perdure.cost"].GetSum().DataPoints[0].GetAsDouble() != 4.5 {
		t.Errorf("metrics: %v", c.metrics)
	}
}

func TestMetricsAreReadAsTextAndNameNoAgent(t *testing.T) {
	tel, err := telemetry.New(telemetry.Config{Gauges: func(context.Context) []telemetry.Gauge {
		return []telemetry.Gauge{{Name: "perdure_agents_waiting", Help: "x", Value: 2}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, id := ran(t, tel, &look{})
	w := httptest.NewRecorder()
	tel.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	got := w.Body.String()
	for _, want := range []string{
		`perdure_cycles_total{step="consult"} 3`, `perdure_tool_calls_total{tool="look",signal="failed"} 1`,
		`perdure_tool_calls_total{tool="look",signal="ok"} 1`,
		`perdure_token_usage_sum{operation="chat",type="input",provider="anthropic",model="claude-test"} 300`,
		`perdure_cost_dollars_total{provider="anthropic",model="claude-test"} 4.5`,
		`perdure_agents_waiting 2`, `perdure_tool_duration_seconds_bucket{tool="look",le="+Inf"} 2`,
		"# TYPE perdure_tool_duration_seconds histogram", "process_start_time_seconds ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got, "topsecretname") || strings.Contains(got, id.String()) ||
		strings.Contains(got, "secret words") {
		t.Error("the metrics name an agent, or what was said")
	}
	line := regexp.MustCompile(`^([a-z_]+)(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? [0-9.e+-]+$`)
	for _, l := range strings.Split(strings.TrimSpace(got), "\n") {
		if !strings.HasPrefix(l, "# HELP ") && !strings.HasPrefix(l, "# TYPE ") && !line.MatchString(l) {
			t.Errorf("not a line of the format: %s", l)
		}
	}
}

// TestACollectorThatIsDownCostsNothing has spans dropped rather than a node wait, or memory grow.
func TestACollectorThatIsDownCostsNothing(t *testing.T) {
	hung := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hung:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(hung)
	tel, err := telemetry.New(telemetry.Config{Endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		_, over := tel.Begin(t.Context(), perdure.Begun{What: phase.StepCycle})
		over(perdure.Over{Step: "decide"})
	}
	w := httptest.NewRecorder()
	tel.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !regexp.MustCompile(`(?m)^perdure_spans_dropped_total [1-9]\d{3,}`).MatchString(w.Body.String()) {
		t.Error("no spans were dropped")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tel.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	for _, bad := range []string{"localhost:4318", "ftp://x", "http://"} {
		if _, err := telemetry.New(telemetry.Config{Endpoint: bad}); err == nil {
			t.Errorf("%s was taken for an endpoint", bad)
		}
	}
}
