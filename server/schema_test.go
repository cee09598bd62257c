package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perdure/perdure/server"
)

// described are the schemas of answers, by method, path and status. False: the operation has no such answer.
var described = sync.OnceValues(func() (func(method, path string, status int) (*jsonschema.Resolved, bool), error) {
	text, err := new(server.Server).OpenAPI()
	if err != nil {
		return nil, err
	}
	text = []byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/"))
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	at := map[string]string{}
	for path, ops := range doc.Paths {
		for method := range ops {
			pattern := strings.ToUpper(method) + " " + path
			mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
			at[pattern] = path
		}
	}
	known := map[string]*jsonschema.Resolved{}
	var lock sync.Mutex
	return func(method, path string, status int) (*jsonschema.Resolved, bool) {
		lock.Lock()
		defer lock.Unlock()
		req, err := http.NewRequest(method, path, nil)
		if err != nil {
			panic(err)
		}
		_, pattern := mux.Handler(req)
		key := pattern + " " + http.StatusText(status)
		op, isOp := doc.Paths[at[pattern]][strings.ToLower(method)]
		_, listed := op.Responses[number(status)]
		listed = listed || !isOp
		if r, ok := known[key]; ok || !isOp {
			return r, listed
		}
		for _, c := range op.Responses[number(status)].Content {
			whole, err := json.Marshal(map[string]any{"$defs": doc.Components.Schemas, "allOf": []any{c.Schema}})
			if err != nil {
				panic(err)
			}
			s := new(jsonschema.Schema)
			if err := json.Unmarshal(whole, s); err != nil {
				panic(err)
			}
			r, err := s.Resolve(nil)
			if err != nil {
				panic(err)
			}
			known[key] = r
		}
		return known[key], listed
	}, nil
})

func number(status int) string {
	b, _ := json.Marshal(status)
	return string(b)
}

// fits fails the test if an answer is not as /openapi.json describes it.
func (w *world) fits(method, path string, status int, body []byte) {
	w.t.Helper()
	of, err := described()
	if err != nil {
		w.t.Fatal(err)
	}
	s, listed := of(method, path, status)
	if !listed {
		w.t.Errorf("%s %s: no answer %d is described", method, path, status)
	}
	if s == nil || len(body) == 0 {
		return
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		w.t.Errorf("%s %s: %v", method, path, err)
		return
	}
	if err := s.Validate(v); err != nil {
		w.t.Errorf("%s %s is not as described: %v\n%s", method, path, err, body)
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	of, err := described()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/v1/agents", "/v1/agents/x", "/v1/agents/x/waits", "/v1/waits", "/v1/nodes", "/v1/whoami"}
	for _, path := range paths {
		if s, _ := of("GET", path, 200); s == nil {
			t.Errorf("GET %s: its answer is not described", path)
		}
	}
}
