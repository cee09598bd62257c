package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/jsontext"
)

// happened is the body of a request that tells an agent what happened, which is what programs ask most. It is read once
// where it is as most are; the library would read it twice, to check it and to decode it. What is different in any way
// is left to the library, which says what is wrong with it.
type happened struct {
	client.Event
	told  perdure.Event // of one that is plain
	plain bool
	value any   // of one that is not, as it is checked
	fault error // that kept it from being decoded
}

// Schema implements huma.SchemaProvider.
func (*happened) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[client.Event](), true, "")
}

// decode reads a body. What it keeps is its own.
func (h *happened) decode(body []byte) error {
	if h.told, h.plain = plainEvent(body); h.plain {
		return nil
	}
	if err := jsontext.Once(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, &h.value); err != nil {
		return errors.New(jsontext.Fault(err))
	}
	h.fault = json.Unmarshal(body, &h.Event)
	return nil
}

// event is what happened, if the body is as the API says.
func (h *happened) event(api huma.API) (ev perdure.Event, err error) {
	if h.plain {
		return h.told, nil
	}
	all, path := &huma.ValidateResult{}, huma.NewPathBuffer(nil, 0)
	path.Push("body")
	r := api.OpenAPI().Components.Schemas
	huma.Validate(r, h.Schema(r), path, huma.ModeWriteToServer, h.value, all)
	if len(all.Errors) == 0 && h.fault != nil {
		all.Errors = append(all.Errors, &huma.ErrorDetail{Location: "body", Message: jsontext.Fault(h.fault)})
	}
	if len(all.Errors) > 0 {
		return ev, huma.NewError(http.StatusUnprocessableEntity, "validation failed", all.Errors...)
	}
	ev, err = perdure.EventOf(h.Name, h.Data)
	ev.ID = h.ID
	return ev, err
}

// onlyJSON refuses what says that it is something else, as the library does where it checks bodies.
func (s *Server) onlyJSON(ctx huma.Context, next func(huma.Context)) {
	if is := ctx.Header("Content-Type"); is != "" && is != "application/json" {
		if err := s.api.Unmarshal(is, []byte("0"), new(any)); err != nil {
			_ = huma.WriteErr(s.api, ctx, http.StatusUnsupportedMediaType, "validation failed",
				&huma.ErrorDetail{Location: "body", Message: err.Error()}) // who has gone needs no answer
			return
		}
	}
	next(ctx)
}

// plainEvent reads an event that has each of its fields once at most, and whose name and id are spelled without
// escapes. False: it is another, or none.
func plainEvent(b []byte) (ev perdure.Event, ok bool) {
	i := space(b, 0)
	if i == len(b) || b[i] != '{' {
		return ev, false
	}
	var name, id string
	var data []byte
	var hasName, hasID, hasData bool
	for i++; ; i++ {
		key, at := plainString(b, space(b, i))
		if at = space(b, at); at >= len(b) || b[at] != ':' {
			return ev, false
		}
		i = space(b, at+1)
		switch {
		case string(key) == "name" && !hasName:
			var s []byte
			s, i = plainString(b, i)
			name, hasName = string(s), true
		case string(key) == "id" && !hasID:
			var s []byte
			s, i = plainString(b, i)
			id, hasID = string(s), true
		case string(key) == "data" && !hasData:
			end := valueEnd(b, i)
			if end == i {
				return ev, false
			}
			data, i, hasData = b[i:end], end, true
		default:
			return ev, false
		}
		if i = space(b, i); i >= len(b) || b[i] != ',' {
			break
		}
	}
	if i >= len(b) || b[i] != '}' || space(b, i+1) != len(b) {
		return ev, false
	}
	ev, err := perdure.EventOf(name, data)
	ev.ID = id
	return ev, err == nil
}

// space is where something other than space is, from i on.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// plainString is a string at i that is spelled as it is, and where it ends; len(b): there is none.
func plainString(b []byte, i int) (text []byte, end int) {
	if i >= len(b) || b[i] != '"' {
		return nil, len(b)
	}
	n := bytes.IndexByte(b[i+1:], '"')
	if n < 0 {
		return nil, len(b)
	}
	text = b[i+1 : i+1+n]
	for _, c := range text {
		if c < ' ' || c == '\\' {
			return nil, len(b)
		}
	}
	if !utf8.Valid(text) {
		return nil, len(b)
	}
	return text, i + n + 2
}

// valueEnd is where the value at i ends, if it is one: whether it is, whoever reads it finds out.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return min(i+1, len(b))
		}
	}
	return min(i, len(b))
}
