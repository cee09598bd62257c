package home

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/telemetry"
	"github.com/perdure/perdure/view"
)

// TelemetryConfig is where traces and metrics go, as node.yaml says it.
type TelemetryConfig struct {
	Endpoint string            `yaml:"endpoint"` // of a collector that speaks OTLP over HTTP
	Headers  map[string]string `yaml:"headers"`  // for it: references, see resolve
	Service  string            `yaml:"service"`
}

// The variables of the environment that say so, too. They come before node.yaml.
const (
	otlpEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otlpHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
	otelService  = "OTEL_SERVICE_NAME"
	otelDisabled = "OTEL_SDK_DISABLED"
)

// Telemetry is what observes a node over a store, by the environment and node.yaml. Nothing is sent anywhere unless one
// of them names a collector.
func (h *Home) Telemetry(s perdure.Store, version string, log *slog.Logger) (*telemetry.Telemetry, error) {
	file, err := readNodeFile(h)
	if err != nil {
		return nil, err
	}
	c := telemetry.Config{Version: version, Log: log, Gauges: func(ctx context.Context) []telemetry.Gauge {
		return gauges(ctx, s)
	}}
	if err := h.observed(&c, &file); err != nil {
		return nil, perdure.Invalid(err)
	}
	t, err := telemetry.New(c)
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	return t, nil
}

// Observed has a node observed if there is a collector to tell. What it returns sends what is left, for a few seconds
// at most.
func (h *Home) Observed(n *perdure.Node, version string, log *slog.Logger) (func(), error) {
	t, err := h.Telemetry(n.Store, version, log)
	if err != nil || !t.Sends() {
		return func() {}, err
	}
	n.Observer = t
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			log.Warn("the last telemetry could not be sent", "err", err)
		}
	}, nil
}

// lastWords is how long a node that stops tries to send its last telemetry.
const lastWords = 5 * time.Second

// observed takes from the environment, else from node.yaml, where telemetry goes.
func (h *Home) observed(c *telemetry.Config, file *NodeFile) (err error) {
	if strings.EqualFold(os.Getenv(otelDisabled), "true") {
		return nil
	}
	c.Endpoint, c.Service, c.Headers = os.Getenv(otlpEndpoint), os.Getenv(otelService), map[string]string{}
	if c.Service == "" {
		c.Service = file.Telemetry.Service
	}
	if c.Endpoint != "" {
		for pair := range strings.SplitSeq(os.Getenv(otlpHeaders), ",") {
			if pair = strings.TrimSpace(pair); pair == "" {
				continue
			}
			name, value, ok := strings.Cut(pair, "=")
			plain, bad := url.PathUnescape(strings.TrimSpace(value))
			if !ok || bad != nil {
				return errors.New(otlpHeaders + ": want NAME=VALUE,…") // never the value
			}
			c.Headers[strings.TrimSpace(name)] = plain
		}
		return nil
	}
	if file.Telemetry.Endpoint == "" {
		return nil
	}
	if err := h.Consent(); err != nil {
		return err
	}
	c.Endpoint = file.Telemetry.Endpoint
	for name, ref := range file.Telemetry.Headers {
		if c.Headers[name], err = h.resolve(ref, file.Secrets); err != nil {
			return fmt.Errorf("telemetry: headers: %s: %w", name, err)
		}
	}
	return nil
}

// gauges is how agents of a store stand, as far as that costs little to find out.
func gauges(ctx context.Context, s perdure.Store) []telemetry.Gauge {
	l, err := view.Lister(s)
	if err != nil {
		return nil
	}
	waiting := 0
	for _, err := range l.List(ctx, perdure.Filter{Waiting: true}) {
		if err != nil {
			return nil // what cannot be counted is not zero
		}
		waiting++
	}
	return []telemetry.Gauge{{Name: "perdure_agents_waiting", Help: "Agents that wait for a person.",
		Value: float64(waiting)}}
}
