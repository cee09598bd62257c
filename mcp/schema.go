package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// object is any JSON object.
type object map[string]any

// schemaOf is the schema of the arguments or the result of a tool, such that clients of every kind take it: each value
// has one type, and none of them is null.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[object](): {Type: "object"},
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
