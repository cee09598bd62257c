package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/internal/bound"
)

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	now := time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "Sun, 31 Jan 2027 09:00:30 GMT", 30 * time.Second},
		{"Retry-After", "Sun, 31 Jan 2027 08:00:00 GMT", 0},
		{"Retry-After", "-5", 0},
		{"Retry-After", "1e30", bound.MaxWait},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := waitOf(h, now); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

func TestSchemaIsOneProvidersTake(t *testing.T) {
	for in, want := range map[string]string{
		``:                                `{"type":"object","properties":{}}`,
		`{}`:                              `{"type":"object","properties":{}}`,
		`true`:                            `{"type":"object","properties":{}}`,
		`{"type":"object","required":[]}`: `{"type":"object","properties":{},"required":[]}`,
		`{"type":"object","properties":{"a":{}}}`:    `{"type":"object","properties":{"a":{}}}`,
		`{"$defs":{"x":{}},"properties":{"a":true}}`: `{"type":"object","$defs":{"x":{}},"properties":{"a":true}}`,
	} {
		var d perdure.Data
		if in != "" {
			var err error
			if d, err = perdure.DataFromJSON([]byte(in)); err != nil {
				t.Fatal(err)
			}
		}
		var got, exp any
		if err := errors.Join(json.Unmarshal([]byte(SchemaJSON(d)), &got),
			json.Unmarshal([]byte(want), &exp)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(exp, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

// Who wants a key is told how to name one for the provider that they named.
func TestAMissingKeyIsNamedForItsProvider(t *testing.T) {
	p := Provider{Name: "Anthropic"}.At(advisor.Endpoint{URL: "http://localhost"})
	if got := p.keyRefused(); !strings.HasSuffix(got, " anthropic:MODEL@URL#NAME") {
		t.Errorf("got %q", got)
	}
}
