package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	collectormetrics "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxSpans bounds the spans that wait to be sent; more are dropped, and counted: a node does not wait for a
	// collector.
	maxSpans = 4096
	// maxBatch is how many are sent at once.
	maxBatch = 512
	// sendEvery is how long a span waits at most.
	sendEvery = 5 * time.Second
	// sendTimeout is how long one try may take, and sendTries how many there are.
	sendTimeout = 10 * time.Second
	sendTries   = 4
)

// exporter sends spans and metrics to a collector.
type exporter struct {
	t      *Telemetry
	base   string
	client *http.Client
	spans  chan *span
	stop   chan struct{}
	done   chan struct{}
	end    context.CancelFunc
}

func newExporter(t *Telemetry) (*exporter, error) {
	u, err := url.Parse(t.c.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("telemetry endpoint: want http://HOST:4318 or https://HOST, of a collector that " +
			"speaks OTLP over HTTP")
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &exporter{t: t, base: strings.TrimRight(t.c.Endpoint, "/"), client: &http.Client{Timeout: sendTimeout},
		spans: make(chan *span, maxSpans),
		stop:  make(chan struct{}), done: make(chan struct{}), end: cancel}
	go e.run(ctx)
	return e, nil
}

// put hands a span over, or drops it.
func (e *exporter) put(s *span) {
	select {
	case e.spans <- s:
	default:
		e.t.dropped.add(1)
	}
}

// close sends what is left until ctx ends.
func (e *exporter) close(ctx context.Context) error {
	defer e.client.CloseIdleConnections()
	close(e.stop)
	select {
	case <-e.done:
	case <-ctx.Done():
		e.end()
		<-e.done
	}
	e.end()
	return ctx.Err()
}

// run sends spans soon after they ended, and metrics now and then, until it is stopped.
func (e *exporter) run(ctx context.Context) {
	defer close(e.done)
	soon, now := time.NewTicker(sendEvery), time.NewTicker(e.t.c.Every)
	defer soon.Stop()
	defer now.Stop()
	var batch []*span
	flush := func() {
		if len(batch) == 0 {
			return
		}
		if err := e.send(ctx, "/v1/traces", e.traces(batch)); err != nil {
			e.t.dropped.add(float64(len(batch)))
			e.t.c.Log.Warn("spans could not be sent", "spans", len(batch), "err", err)
		}
		batch = nil
	}
	for {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) >= maxBatch {
				flush()
			}
		case <-soon.C:
			flush()
		case <-now.C:
			e.sendMetrics(ctx)
		case <-e.stop:
			for len(e.spans) > 0 {
				if batch = append(batch, <-e.spans); len(batch) >= maxBatch {
					flush()
				}
			}
			flush()
			e.sendMetrics(ctx)
			return
		}
	}
}

func (e *exporter) sendMetrics(ctx context.Context) {
	if err := e.send(ctx, "/v1/metrics", e.metrics(time.Now())); err != nil {
		e.t.c.Log.Warn("metrics could not be sent", "err", err)
	}
}

// send posts a message, and again where the collector says that it is busy.
func (e *exporter) send(ctx context.Context, path string, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	pause := time.Second
	for try := 1; ; try++ {
		after, err := e.post(ctx, path, body)
		if err == nil || after < 0 || try == sendTries || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(max(pause, min(after, 30*time.Second)))
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-e.stop: // no time left: once more, at once
			try = sendTries - 1
		}
		timer.Stop()
		pause *= 2
	}
}

// post posts once. It returns how long to wait before the next try; below zero: there is no use.
func (e *exporter) post(ctx context.Context, path string, body []byte) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+path, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	for name, value := range e.t.c.Headers {
		req.Header.Set(name, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the status counts
	_ = resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		n, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(max(n, 0)) * time.Second, fmt.Errorf("the collector answered %s", resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return -1, fmt.Errorf("the collector answered %s", resp.Status)
	}
	return 0, nil
}

func text(name, value string) *common.KeyValue {
	return &common.KeyValue{Key: name,
		Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "\ufffd")}}}
}

// resource is who says all this.
func (e *exporter) resource() *resource.Resource {
	return &resource.Resource{Attributes: []*common.KeyValue{
		text("service.name", e.t.c.Service), text("service.version", e.t.c.Version),
		text("telemetry.sdk.name", "perdure"),
		text("telemetry.sdk.language", "go"), text("process.runtime.version", runtime.Version()),
	}}
}

func (e *exporter) scope() *common.InstrumentationScope {
	return &common.InstrumentationScope{Name: "github.com/perdure/perdure", Version: e.t.c.Version}
}

// schemaURL is the conventions that names are of.
const schemaURL = "https://opentelemetry.io/schemas/1.41.0"

// traces is spans as a collector takes them.
func (e *exporter) traces(batch []*span) proto.Message {
	out := make([]*trace.Span, len(batch))
	for i, s := range batch {
		p := &trace.Span{
			TraceId: unhex(s.trace), SpanId: unhex(s.id), ParentSpanId: unhex(s.parent), Name: s.name,
			Kind:              trace.Span_SPAN_KIND_INTERNAL,
			StartTimeUnixNano: uint64(s.begun.UnixNano()), EndTimeUnixNano: uint64(s.ended.UnixNano()),
			Status: &trace.Status{},
		}
		if s.client {
			p.Kind = trace.Span_SPAN_KIND_CLIENT
		}
		if s.failed != "" {
			p.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: s.failed}
		}
		for _, a := range s.attributes {
			switch v := a.value.(type) {
			case string:
				p.Attributes = append(p.Attributes, text(a.name, v))
			case int64:
				p.Attributes = append(p.Attributes, &common.KeyValue{Key: a.name,
					Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v}}})
			}
		}
		out[i] = p
	}
	return &collectortrace.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource: e.resource(), SchemaUrl: schemaURL, ScopeSpans: []*trace.ScopeSpans{{Scope: e.scope(), Spans: out,
			SchemaUrl: schemaURL}},
	}}}
}

func unhex(s string) []byte {
	b, _ := hex.DecodeString(s) // it was made from bytes
	return b
}

// metrics is all metrics as they are at a time.
func (e *exporter) metrics(now time.Time) proto.Message {
	begun, at := uint64(e.t.begun.UnixNano()), uint64(now.UnixNano())
	var all []*metrics.Metric
	for _, f := range e.t.families {
		m := &metrics.Metric{Name: f.otlp, Description: f.help, Unit: f.unit}
		if f.bounds == nil {
			m.Data = &metrics.Metric_Sum{Sum: f.sums(begun, at)}
		} else {
			m.Data = &metrics.Metric_Histogram{Histogram: f.histogram(begun, at)}
		}
		all = append(all, m)
	}
	return &collectormetrics.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: e.resource(), SchemaUrl: schemaURL, ScopeMetrics: []*metrics.ScopeMetrics{{Scope: e.scope(),
			Metrics: all, SchemaUrl: schemaURL}},
	}}}
}

func (f *family) attributes(s *series) (all []*common.KeyValue) {
	for i, l := range f.labels {
		all = append(all, text(l.otlp, s.values[i]))
	}
	return all
}

func (f *family) sums(begun, at uint64) *metrics.Sum {
	out := &metrics.Sum{AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		IsMonotonic: true}
	for _, s := range f.snapshot() {
		out.DataPoints = append(out.DataPoints, &metrics.NumberDataPoint{
			Attributes: f.attributes(&s), StartTimeUnixNano: begun, TimeUnixNano: at,
			Value: &metrics.NumberDataPoint_AsDouble{AsDouble: s.sum},
		})
	}
	return out
}

func (f *family) histogram(begun, at uint64) *metrics.Histogram {
	out := &metrics.Histogram{AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
	for _, s := range f.snapshot() {
		sum := s.sum
		out.DataPoints = append(out.DataPoints, &metrics.HistogramDataPoint{
			Attributes: f.attributes(&s), StartTimeUnixNano: begun, TimeUnixNano: at, Count: s.count, Sum: &sum,
			BucketCounts: s.counts, ExplicitBounds: f.bounds,
		})
	}
	return out
}
