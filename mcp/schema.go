package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure/view"
)

// object is any JSON object.
type object map[string]any

// schemaOf is the schema of the arguments or the result of a tool, such that clients of every kind take it: each value
// has one type, and none of them is null.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[object]():     {Type: "object"},
		reflect.TypeFor[view.Limit](): {Type: "integer", Minimum: jsonschema.Ptr(1.0)},
	}})
	if err != nil {
		panic(err) // the types are ours
	}
	oneType(s)
	return s
}

func oneType(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	for _, p := range s.Properties {
		oneType(p)
	}
	oneType(s.Items)
	oneType(s.AdditionalProperties)
}

// inWords says what is wrong with the arguments of a call without the words of the library that checks them, and which
// there are: a model that guessed a name knows what to send next.
func (s *Server) inWords(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if r, ok := res.(*sdk.CallToolResult); ok && r != nil && r.IsError && len(r.Content) == 1 {
			if t, ok := r.Content[0].(*sdk.TextContent); ok {
				if text, is := strings.CutPrefix(t.Text, `validating "arguments": `); is {
					text = belowLeast.ReplaceAllString(plainly.Replace(text), " $1: want at least 1")
					t.Text = "the arguments: " + text
					if c, ok := req.(*sdk.CallToolRequest); ok && len(s.takes[c.Params.Name]) > 0 {
						t.Text += "\nhint: " + c.Params.Name + " takes " + strings.Join(s.takes[c.Params.Name], ", ")
					}
				}
			}
		}
		return res, err
	}
}

// plainly takes out where in its schema the library found something wrong: the name of the argument says it.
var plainly = strings.NewReplacer("validating root: ", "", "validating /properties/", "", ": type: ", ": ",
	"required: missing properties: ", "missing: ", "unexpected additional properties ", "unknown: ")

// belowLeast is what the library says of a number below 1.
var belowLeast = regexp.MustCompile(`: minimum: (-?\d+)/1 is less than 1\.0+`)

// withoutNulls lets models write null for what they leave out.
func withoutNulls(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if r, ok := req.(*sdk.CallToolRequest); ok && r.Params != nil &&
			bytes.Contains(r.Params.Arguments, []byte("null")) {
			var args map[string]json.RawMessage
			if json.Unmarshal(r.Params.Arguments, &args) == nil { // else the tool says what is wrong
				for name, value := range args {
					if string(value) == "null" {
						delete(args, name)
					}
				}
				if text, err := json.Marshal(args); err == nil {
					r.Params.Arguments = text
				}
			}
		}
		return next(ctx, method, req)
	}
}
