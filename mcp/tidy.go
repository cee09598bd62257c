package mcp

import (
	"context"
	"reflect"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure/view"
)

// tidy makes the texts of a value plain, in place: what is hidden in them shows as an escape. Names, goals, arguments
// and results are written by agents, models and strangers; a person or a model that reads them sees what is there.
func tidy(v any) { tidyValue(reflect.ValueOf(v)) }

func tidyValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			tidyValue(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			tidyValue(inner)
			v.Set(inner)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(view.InText(v.String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				tidyValue(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() || !v.CanSet() {
			return
		}
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len()) // the old one may be part of an agent
		reflect.Copy(fresh, v)
		v.Set(fresh)
		for i := range v.Len() {
			tidyValue(v.Index(i))
		}
	case reflect.Map:
		tidyMap(v)
	}
}

// tidyMap gives a map new keys and values; the old one may be somebody else's.
func tidyMap(v reflect.Value) {
	if v.IsNil() || !v.CanSet() {
		return
	}
	fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
	for it := v.MapRange(); it.Next(); {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(it.Key())
		value.Set(it.Value())
		tidyValue(key)
		tidyValue(value)
		fresh.SetMapIndex(key, value)
	}
	v.Set(fresh)
}

// tidying makes the texts of errors plain, which quote what was asked for.
func tidying(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if r, ok := res.(*sdk.CallToolResult); ok && r != nil && r.IsError {
			for _, c := range r.Content {
				if text, ok := c.(*sdk.TextContent); ok {
					text.Text = view.Cut(view.InText(text.Text), maxProblem)
				}
			}
		}
		return res, err
	}
}

// maxProblem is how much of an error is sent.
const maxProblem = 4 << 10
