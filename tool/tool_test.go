package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// data is v as Data.
func data(t testing.TB, v any) perdure.Data {
	t.Helper()
	d, err := perdure.DataOf(v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// named finds a tool.
func named(t testing.TB, tools []perdure.Tool, name string) perdure.Tool {
	t.Helper()
	for _, tl := range tools {
		if tl.Spec().Name == name {
			return tl
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// call calls a tool whose call must not be an error.
func call(t testing.TB, tl perdure.Tool, args any) perdure.Result {
	t.Helper()
	res, err := tl.Call(t.Context(), perdure.Call{Key: "key-1", Args: data(t, args)})
	if err != nil {
		t.Fatalf("%s: %v", tl.Spec().Name, err)
	}
	return res
}

// value is the data of a result that must be ok.
func value(t testing.TB, res perdure.Result) map[string]any {
	t.Helper()
	if res.Signal != 0 {
		t.Fatalf("got %s (%s), want ok", res.Signal, res.Note)
	}
	return fields(t, res)
}

func fields(t testing.TB, res perdure.Result) map[string]any {
	t.Helper()
	v, ok := res.Data.Value().(map[string]any)
	if !ok {
		t.Fatalf("got data %s, want a map", res.Data.JSON())
	}
	return v
}

// cut is the data of a result of which something was left out.
func cut(t testing.TB, res perdure.Result) map[string]any {
	t.Helper()
	if res.Signal != perdure.Partial || res.Note == "" {
		t.Errorf("got %s (%s), want partial, and why", res.Signal, res.Note)
	}
	return fields(t, res)
}

// fails checks that a result failed with a note that holds every part.
func fails(t testing.TB, res perdure.Result, parts ...string) {
	t.Helper()
	if res.Signal != perdure.Failed {
		t.Errorf("got %s (%s), want failed", res.Signal, res.Note)
	}
	for _, p := range parts {
		if !strings.Contains(res.Note, p) {
			t.Errorf("got note %q, want %q in it", res.Note, p)
		}
	}
}

// doubts checks that a call is in doubt, with an error that holds every part.
func doubts(t testing.TB, tl perdure.Tool, args any, parts ...string) {
	t.Helper()
	res, err := tl.Call(t.Context(), perdure.Call{Key: "key-1", Args: data(t, args)})
	if !errors.Is(err, perdure.ErrInDoubt) {
		t.Errorf("%s: got %s (%s), %v, want doubt", tl.Spec().Name, res.Signal, res.Note, err)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("got %q, want %q in it", err, p)
		}
	}
}

type order struct {
	Item  string    `json:"item" jsonschema:"what to order"`
	Count int8      `json:"count,omitempty"`
	Blob  []byte    `json:"blob,omitempty"`
	Where *struct { // nested
		City string `json:"city"`
	} `json:"where,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

func orderTool(called *int, got *order) perdure.Tool {
	return tool.Func("order", "orders", perdure.Idempotent, func(_ context.Context, c perdure.Call,
		o order) (map[string]any, error) {
		*called++
		*got = o
		return map[string]any{"key": c.Key, "big": uint64(math.MaxUint64)}, nil
	})
}

func TestFuncGivesTypedArgumentsAndRecordsItsResult(t *testing.T) {
	var n int
	var got order
	tl := orderTool(&n, &got)
	res := call(t, tl, map[string]any{"item": "book", "count": 3, "blob": []byte{0, 255},
		"where": map[string]any{"city": "Oslo"}, "tags": []string{"a"}})
	want := order{Item: "book", Count: 3, Blob: []byte{0, 255}, Tags: []string{"a"}}
	want.Where = &struct {
		City string `json:"city"`
	}{"Oslo"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"key": "key-1", "big": uint64(math.MaxUint64)}, value(t, res)); diff != "" {
		t.Error(diff)
	}
	spec := tl.Spec()
	if spec.Name != "order" || spec.Effect != perdure.Idempotent || spec.Description != "orders" {
		t.Errorf("got spec %+v", spec)
	}
	var schema struct {
		Type       string
		Required   []string
		Properties map[string]struct {
			Description     string
			ContentEncoding string
		}
	}
	if err := json.Unmarshal(spec.Args.JSON(), &schema); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"item"}, schema.Required); diff != "" {
		t.Error(diff)
	}
	if schema.Type != "object" || schema.Properties["item"].Description != "what to order" ||
		schema.Properties["blob"].ContentEncoding != "base64" {
		t.Errorf("got schema %s", spec.Args.JSON())
	}
}

func TestBadArgumentsNameTheFieldAndCallNothing(t *testing.T) {
	var n int
	var got order
	tl := orderTool(&n, &got)
	item := func(k string, v any) map[string]any { return map[string]any{"item": "book", k: v} }
	for name, c := range map[string]struct {
		args any
		want string
	}{
		"missing":          {map[string]any{}, "item"},
		"wrong type":       {map[string]any{"item": 3}, "item"},
		"null":             {map[string]any{"item": nil}, "item"},
		"unknown":          {item("colour", "red"), "colour"},
		"another case":     {item("Count", 1), "Count"},
		"too large":        {item("count", 300), "count"},
		"far too large":    {item("count", uint64(math.MaxUint64)), "count"},
		"fraction":         {item("count", 1.5), "count"},
		"not a number":     {item("count", math.NaN()), "count"},
		"nested unknown":   {item("where", map[string]any{"city": "Oslo", "zip": 1}), "where"},
		"nested missing":   {item("where", map[string]any{}), "city"},
		"element":          {item("tags", []any{"a", 1}), "tags"},
		"not base64":       {item("blob", "?"), "base64"},
		"not an object":    {[]any{}, "object"},
		"text, not object": {`{"item":"book"}`, "object"},
	} {
		t.Run(name, func(t *testing.T) { fails(t, call(t, tl, c.args), c.want, "order") })
	}
	res, err := tl.Call(t.Context(), perdure.Call{Args: perdure.Data{0xff}})
	if err != nil {
		t.Fatal(err)
	}
	fails(t, res, "arguments of order")
	if long := call(t, tl, map[string]any{"item": "a", strings.Repeat("x", 1<<20): 1}); len(long.Note) > 4<<10 {
		t.Errorf("got a note of %d bytes, want it cut", len(long.Note))
	}
	if n != 0 {
		t.Errorf("the function was called %d times, want none", n)
	}
}

func TestFuncPassesErrorsOn(t *testing.T) {
	for _, want := range []error{errors.New("sold out"), perdure.ErrIncapable} {
		tl := tool.Func("f", "", perdure.Read, func(context.Context, perdure.Call, struct{}) (int, error) {
			return 0, want
		})
		if _, err := tl.Call(t.Context(), perdure.Call{}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	tl := tool.Func("f", "", perdure.Read, func(context.Context, perdure.Call, struct{}) (float64, error) {
		return math.Inf(1), nil
	})
	if _, err := tl.Call(t.Context(), perdure.Call{}); err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("got %v, want that the result has no JSON", err)
	}
}

func TestFuncPanicsWithoutASchema(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a struct with a channel got a schema")
		}
	}()
	tool.Func("f", "", perdure.Read, func(context.Context, perdure.Call, struct{ C chan int }) (int, error) {
		return 0, nil
	})
}

func TestAnAgentIsDeniedACallWithBadArguments(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var got order
	advisor := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		if a.Fold().Turns > 0 {
			return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
		}
		return perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "order",
			Args: data(t, map[string]any{"item": 1})}}}, nil
	})
	node := &perdure.Node{
		Store: new(perdure.MemStore), Key: key, Tools: []perdure.Tool{orderTool(&n, &got)},
		Advisors: map[string]perdure.Advisor{"": advisor},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
	}
	a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "order"},
		Charter: perdure.Charter{Scope: "test", Owner: key.Key()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	if a, err = perdure.Load(t.Context(), node.Store, a.ID()); err != nil {
		t.Fatal(err)
	}
	rec := a.Fold().Tool("order")
	if rec == nil || rec.Last[0].Signal != perdure.Denied || n != 0 {
		t.Errorf("got %+v and %d calls, want one denied signal and no call", rec, n)
	}
}

// nodeWith is a node whose agents do one thing and end.
func nodeWith(t *testing.T, tl perdure.Tool, act perdure.Action) *perdure.Node {
	t.Helper()
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	return &perdure.Node{
		Store: new(perdure.MemStore), Key: key, Tools: []perdure.Tool{tl},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				if a.Fold().Turns == 0 {
					return perdure.Advice{Actions: []perdure.Action{act}}, nil
				}
				return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
			})},
	}
}
