package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// eventBodies are requests to tell an agent something, good and bad.
var eventBodies = []string{
	`{"name":"rain"}`, ` { "name" : "rain" , "id":"x" , "data" : { "a" : [1, "}", "\"]"] } } `,
	`{"data":"\u00e9","name":"rain"}`, `{"data":null,"name":"rain"}`, `{"name":"rain","data":12}`,
	`{"name":"r\u0061in"}`, `{"name":"rain","id":""}`, `{"name":" "}`, `{"name":"é"}`, `{"name":"rain","name":"snow"}`,
	`{"name":""}`, `{}`, `[]`, `null`, `0`, `"x"`, ``, `{`, `{"name"`, `{"name":`, `{"name":"rain"`, `{"name":"rain",}`,
	`{"name":"rain"}}`, `{"name":"rain"} {}`, `{"Name":"rain"}`, `{"name":"rain","date":1}`, `{"name":1}`,
	`{"name":"rain","NAME":"snow"}`, `{"name":" rain "}`,
	`{"name":"rain","id":1}`, `{"name":null}`, `{"name":"rain","id":null}`, `{"name":"rain","data":}`,
	`{"name":"rain","data":{]}`, `{"name":"rain","data":[1,]}`, `{"name":"rain","data":01}`, `{"name":"rain","data":1e999}`,
	`{"name":"rain","data":"a` + "\n" + `b"}`, "{\"name\":\"\xff\"}", `{"name":"rain","data":{"a":1,"a":2}}`,
	`{"name":"rain","data":tru}`, `{"name":"rain","data":"\ud800"}`, `{"name":"rain" "id":"x"}`, `{name:"rain"}`,
	`{"name":"rain","data":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
}

// bothAPIs reads requests as the library does, and as is done here.
func bothAPIs(t *testing.T) *httptest.Server {
	t.Helper()
	problems()
	mux := http.NewServeMux()
	c := huma.DefaultConfig("test", "1")
	c.DocsPath, c.SchemasPath, c.OpenAPIPath, c.CreateHooks, c.Formats = "", "", "", nil, formats()
	s := &Server{api: humago.New(mux, c)}
	type out struct{ Body client.Event }
	huma.Register(s.api, post("/library", "library", "", ""),
		func(_ context.Context, in *struct{ Body client.Event }) (*out, error) {
			ev, err := perdure.EventOf(in.Body.Name, in.Body.Data)
			if err != nil {
				return nil, s.problem(context.Background(), err)
			}
			return &out{client.Event{Name: ev.Name, ID: in.Body.ID, Data: ev.Data.JSON()}}, nil
		})
	ours := post("/ours", "ours", "", "")
	ours.SkipValidateBody, ours.Middlewares = true, huma.Middlewares{s.onlyJSON}
	huma.Register(s.api, ours, func(_ context.Context, in *struct{ Body happened }) (*out, error) {
		ev, err := in.Body.event(s.api)
		if err != nil {
			return nil, s.problem(context.Background(), err)
		}
		return &out{client.Event{Name: ev.Name, ID: ev.ID, Data: ev.Data.JSON()}}, nil
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web
}

// An event is read as the library would read it, and refused in the same words.
func TestEventsAreReadAsTheLibraryReads(t *testing.T) {
	t.Parallel()
	web := bothAPIs(t)
	ask := func(path, kind, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Status + " " + res.Header.Get("Content-Type") + " " + string(text)
	}
	good := 0
	for _, body := range eventBodies {
		got, want := ask("/ours", "application/json", body), ask("/library", "application/json", body)
		if got != want {
			t.Errorf("%.80q: got\n%s\nwant\n%s", body, got, want)
		}
		if strings.HasPrefix(got, "200") {
			good++
		}
	}
	if good < 10 {
		t.Errorf("%d of them were taken", good)
	}
	for _, kind := range []string{"", "text/plain", "application/json; charset=utf-8", "application/x+json",
		"application/cbor"} {
		if got, want := ask("/ours", kind, eventBodies[0]), ask("/library", kind, eventBodies[0]); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", kind, got, want)
		}
	}
}

// What is taken for a plain event is one, and says the same when it is read in any other way.
func FuzzPlainEvent(f *testing.F) {
	for _, b := range eventBodies {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := plainEvent(b)
		if !ok {
			return
		}
		var ev client.Event
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.DisallowUnknownFields()
		if err := d.Decode(&ev); err != nil || ev.ID != got.ID {
			t.Fatalf("%q: got %q, want %q, %v", b, got.ID, ev.ID, err)
		}
		want, err := perdure.EventOf(ev.Name, ev.Data)
		if err != nil || want.Name != got.Name || string(want.Data) != string(got.Data) {
			t.Fatalf("%q: got %v, want %v, %v", b, got, want, err)
		}
		if !json.Valid(b) {
			t.Fatalf("%q is no JSON", b)
		}
	})
}
