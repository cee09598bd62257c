package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/view"
)

// problem is an error as it is sent.
type problem struct{ client.Problem }

var _ huma.StatusError = (*problem)(nil)

func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// problems has what the library itself finds wrong with requests told in the same form.
var problems = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false // a list is never null
	huma.ValidateStrictCasing = true  // who reads a request and who acts on it see the same
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		if message == "cannot read request body" { // which is no fault of this server
			status = http.StatusBadRequest
		}
		p := &problem{
			client.Problem{
				Title:  http.StatusText(status),
				Status: status,
				Detail: message,
				Kind:   kindOfStatus(status).String(),
			},
		}
		for _, err := range errs {
			if err == nil {
				continue
			}
			f := client.Fault{Message: err.Error()}
			var detail huma.ErrorDetailer
			if errors.As(err, &detail) { // without the value: it may be a secret in the wrong place
				d := detail.ErrorDetail()
				f = client.Fault{Message: d.Message, Location: d.Location}
			}
			p.Errors = append(p.Errors, f)
		}
		if len(p.Errors) > 0 {
			p.Detail += ": " + p.Errors[0].Message
			if at := p.Errors[0].Location; at != "" {
				p.Detail += " (" + at + ")"
			}
		}
		if status == http.StatusUnsupportedMediaType {
			p.Hint = "say what it is, with the header Content-Type: application/json"
		}
		if status == http.StatusRequestEntityTooLarge {
			_, most, _ := strings.Cut(message, "limit=")
			p.Detail = strings.TrimSuffix("the body is larger than may be sent here: at most "+most, ": at most ")
		}
		if status == http.StatusUnprocessableEntity { // bytes that a predicate refused are something else
			p.Status, p.Title, p.Kind = http.StatusBadRequest, http.StatusText(
				http.StatusBadRequest,
			), home.KindInvalid.String()
		}
		if p.Kind == home.KindInvalid.String() {
			p.Hint = client.SeeDocs
		}
		p.Type, p.Exit = "urn:perdure:problem:"+p.Kind, home.KindNamed(p.Kind).Exit()
		return p
	}
})

// kindOfStatus is the kind of an error that has only a status.
func kindOfStatus(status int) home.Kind {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotAcceptable, http.StatusMethodNotAllowed:
		return home.KindInvalid
	case http.StatusUnauthorized:
		return home.KindUnknown
	case http.StatusForbidden:
		return home.KindDenied
	case http.StatusNotFound:
		return home.KindNotFound
	case http.StatusConflict:
		return home.KindConflict
	case http.StatusPreconditionFailed:
		return home.KindMoved
	case http.StatusRequestEntityTooLarge:
		return home.KindTooLarge
	case http.StatusTooManyRequests:
		return home.KindTooMany
	case http.StatusUnsupportedMediaType:
		return home.KindOtherContent
	case http.StatusRequestTimeout, http.StatusServiceUnavailable:
		return home.KindUnavailable
	}
	return home.KindFailure
}

// problem is an error for who asked.
func (s *Server) problem(ctx context.Context, err error) *problem {
	var as *problem
	if errors.As(err, &as) {
		return as
	}
	kind := home.KindOf(err)
	status := kind.Status()
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		kind = home.KindTooLarge
		status = kind.Status()
	}
	message, hint := view.Explain(err, "perdure")
	if kind == home.KindInvalid && hint == "see perdure --help" {
		hint = client.SeeDocs
	}
	p := &problem{
		client.Problem{
			Type:   "urn:perdure:problem:" + kind.String(),
			Title:  http.StatusText(status),
			Status: status,
			Detail: message,
			Kind:   kind.String(),
			Hint:   hint,
			Exit:   kind.Exit(),
		},
	}
	var refused *perdure.Rejection
	if errors.As(err, &refused) {
		p.Rejection = refused
	}
	if kind == home.KindFailure {
		s.Log.ErrorContext(ctx, "request", "err", err)
	}
	return p
}

// Fail answers with an error, as a problem.
func (s *Server) Fail(w http.ResponseWriter, r *http.Request, err error) { s.fail(w, r, err) }

// fail is Fail.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problem(r.Context(), err)
	headersOf(p, w.Header().Set)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who has gone needs no answer
}

// refuse is fail for what is not looked at: nothing more of it is waited for.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	brief(w, r)
	s.fail(w, r, err)
}

// answer is fail inside the API.
func (s *Server) answer(ctx huma.Context, err error) {
	p := s.problem(ctx.Context(), err)
	headersOf(p, ctx.SetHeader)
	ctx.SetStatus(p.Status)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(p) // as above
}

func headersOf(p *problem, set func(name, value string)) {
	set("Content-Type", "application/problem+json")
	set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusUnauthorized:
		set("WWW-Authenticate", `Bearer realm="perdure"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		set("Retry-After", "1")
	}
}

// plain is a value that is sent as the command line prints it with --json, and described as T is.
type plain[T any] struct{ value any }

func (p plain[T]) MarshalJSON() ([]byte, error) {
	if v, ok := p.value.(T); ok { // it is what goes over the wire
		return json.Marshal(v)
	}
	return view.ReadableJSON(p.value)
}

// formats is JSON, in which what marshals itself is sent as it is: json would read all of it again.
func formats() map[string]huma.Format {
	read := func(data []byte, v any) error {
		if err := jsontext.Text(data); err != nil {
			return fmt.Errorf("the body: %w", err)
		}
		if h, ok := v.(*happened); ok {
			return h.decode(data)
		}
		if err := jsontext.Once(data); err != nil {
			return err
		}
		if err := json.Unmarshal(data, v); err != nil {
			return errors.New(jsontext.Fault(err))
		}
		return nil
	}
	f := huma.Format{Unmarshal: read, Marshal: func(w io.Writer, v any) error {
		w = gone{w}
		m, ok := v.(json.Marshaler)
		if !ok {
			return huma.DefaultJSONFormat.Marshal(w, v)
		}
		b, err := m.MarshalJSON()
		if err == nil {
			_, err = w.Write(append(b, '\n'))
		}
		return err
	}}
	return map[string]huma.Format{"application/json": f, "json": f}
}

// gone is where an answer goes that nobody may wait for any more: who has gone needs none. The library would take it
// for a value that cannot be sent, write a second status, and panic.
type gone struct{ io.Writer }

func (g gone) Write(b []byte) (int, error) {
	_, _ = g.Writer.Write(b)
	return len(b), nil
}

// Schema implements huma.SchemaProvider.
func (p plain[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}
