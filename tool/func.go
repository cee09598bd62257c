package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// Func is a tool made of a function. The JSON Schema of Args, which is a struct or a map with text keys, is derived
// from its type: the json tag names a field, omitempty or omitzero makes it optional, the jsonschema tag describes it.
// Arguments that do not fit are a failed outcome that names the field, and fn is not called. What fn returns is
// recorded as its JSON; an error is a failed outcome, unless it wraps perdure.ErrIncapable, or perdure.ErrInDoubt
// because nobody knows whether the effect happened. call.Key is the idempotency key to pass on.
//
// Func panics if Args has no JSON Schema, such as a struct with a channel in it.
func Func[Args, Out any](name, description string, effect perdure.Effect,
	fn func(ctx context.Context, call perdure.Call, args Args) (Out, error)) perdure.Tool {
	return newTyped(perdure.Spec{Name: name, Description: description, Effect: effect},
		func(ctx context.Context, c perdure.Call, args Args) (perdure.Result, error) {
			out, err := fn(ctx, c, args)
			if err != nil {
				return perdure.Result{}, err
			}
			data, err := dataOf(out)
			if err != nil {
				return perdure.Result{}, fmt.Errorf("the result of %s, a %T, has no JSON: %w", name, out, err)
			}
			return perdure.Result{Data: data}, nil
		})
}

// typed is a tool whose arguments are an Args.
type typed[Args any] struct {
	spec   perdure.Spec
	schema *schema
	clean  cleaners
	fn     func(ctx context.Context, c perdure.Call, args Args) (perdure.Result, error)
}

func newTyped[Args any](spec perdure.Spec, fn func(context.Context, perdure.Call, Args) (perdure.Result,
	error)) *typed[Args] {
	s, err := schemaOf[Args]()
	if err != nil {
		panic(fmt.Sprintf("tool %s: the arguments have no JSON Schema: %v", spec.Name, err))
	}
	spec.Args = s.data
	return &typed[Args]{spec: spec, schema: s, fn: fn}
}

// cleaned is the tool with arguments that have to be in their clean form.
func (t *typed[Args]) cleaned(c cleaners) *typed[Args] {
	t.clean = c
	return t
}

// Spec implements perdure.Tool.
func (t *typed[Args]) Spec() perdure.Spec { return t.spec }

// CheckArgs implements perdure.ArgumentChecker.
func (t *typed[Args]) CheckArgs(args perdure.Data) error { return t.clean.check(args) }

// Call implements perdure.Tool. It checks again what CheckArgs does: the decision may have been made elsewhere.
func (t *typed[Args]) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	var args Args
	err := t.schema.decode(c.Args, &args)
	if err == nil {
		err = t.clean.check(c.Args)
		if err != nil && c.Opened != nil { // the form that is wanted is as much about somebody as what was sealed
			err = errors.New("what was sealed is not in its clean form")
		}
	}
	if err != nil {
		return refused("arguments of %s: %v", t.spec.Name, err), nil
	}
	return t.fn(ctx, c, args)
}

// refused is the failed outcome of a call that changed nothing. It is a result and not an error, so that it stays one
// even if the time for the call has run out.
func refused(format string, args ...any) perdure.Result {
	return perdure.Result{Signal: perdure.Failed, Note: clip(fmt.Sprintf(format, args...))}
}

// inDoubt is the error of a call that was made, and of which nobody knows whether it happened.
func inDoubt(format string, args ...any) error {
	return fmt.Errorf("%s: %w", clip(fmt.Sprintf(format, args...)), perdure.ErrInDoubt)
}

// late is a doubt about something that had its time: an answer may still have been on its way.
type late struct{ error }

func (e late) Unwrap() error { return e.error }

// Is reports that it is a matter of a deadline, without saying so in words of its own.
func (late) Is(target error) bool { return target == context.DeadlineExceeded }

// dataOf is a Go value as its JSON.
func dataOf(v any) (perdure.Data, error) {
	if d, ok := v.(perdure.Data); ok {
		return d, d.Valid()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return perdure.DataFromJSON(text)
}
