package home

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/telemetry"
)

// TestTheEnvironmentComesBeforeTheFile is the precedence that operations.md documents.
func TestTheEnvironmentComesBeforeTheFile(t *testing.T) {
	h := hookedHome(t, "secrets: secrets\ntelemetry: {endpoint: \"http://file.example:4318\", service: filed, "+
		"headers: {Authorization: CRM}}\n")
	read := func() (c telemetry.Config, err error) {
		file, err := readNodeFile(h)
		if err == nil {
			err = h.observed(&c, &file)
		}
		return c, err
	}
	c, err := read()
	if err != nil || c.Endpoint != "http://file.example:4318" || c.Service != "filed" ||
		!strings.HasPrefix(c.Headers["Authorization"], "whsec_") {
		t.Errorf("from the file: %+v, %v", c, err)
	}
	t.Setenv(otlpEndpoint, "http://env.example:4318")
	t.Setenv(otlpHeaders, "a=b%20c, d=e")
	t.Setenv(otelService, "envied")
	c, err = read()
	if err != nil || c.Endpoint != "http://env.example:4318" || c.Service != "envied" || c.Headers["a"] != "b c" ||
		c.Headers["d"] != "e" || c.Headers["Authorization"] != "" {
		t.Errorf("from the environment: %+v, %v", c, err)
	}
	t.Setenv(otlpHeaders, "topsecret")
	if _, err = read(); err == nil || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("headers that are none: %v", err)
	}
	t.Setenv(otelDisabled, "TRUE")
	if c, err = read(); err != nil || c.Endpoint != "" {
		t.Errorf("switched off: %+v, %v", c, err)
	}
	off, err := h.Telemetry(new(perdure.MemStore), "1", nil)
	if err != nil || off.Sends() {
		t.Errorf("switched off: %v", err)
	}
}
