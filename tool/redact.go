package tool

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/perdure/perdure"
)

// givenSecrets are the secrets that a set of tools was given, so that none of them shows what another was told.
type givenSecrets struct {
	source Secrets

	mu     sync.Mutex
	values map[string]string // value -> name; it only grows
	made   *redactor
	madeOf int // values
}

// get is the value of a name, which is remembered.
func (g *givenSecrets) get(ctx context.Context, name string) (string, error) {
	v, err := g.source.Secret(ctx, name)
	switch {
	case errors.Is(err, ErrUnknownSecret):
		return "", fmt.Errorf("secret %s is not known to this node: add it to the secrets of the node, or refer to "+
			"one it has", name)
	case err != nil:
		return "", fmt.Errorf("secret %s cannot be had: %w", name, err)
	case len(v) < minSecret:
		return "", fmt.Errorf("secret %s is shorter than %d bytes, and could not be kept out of results: use a "+
			"longer one", name, minSecret)
	}
	g.remember(name, v)
	return v, nil
}

func (g *givenSecrets) remember(name, value string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.values == nil {
		g.values = map[string]string{}
	}
	if old, ok := g.values[value]; !ok || name < old {
		g.values[value], g.made = name, nil
	}
}

// know remembers every value, where the source can list them.
func (g *givenSecrets) know(ctx context.Context) error {
	known, ok := g.source.(KnownSecrets)
	if !ok {
		return nil
	}
	all, err := known.Secrets(ctx)
	if err != nil {
		return err
	}
	for name, v := range all {
		if len(v) >= minSecret {
			g.remember(name, v)
		}
	}
	return nil
}

// clean calls fn and takes every value out of what it returns, or panics with: who recovers finds where it panicked.
func (g *givenSecrets) clean(ctx context.Context, fn func(context.Context) (perdure.Result, error)) (res perdure.Result,
	err error) {
	if err := g.know(ctx); err != nil {
		return refused("the secrets of this node cannot be had, so they could not be kept out of the result: %v",
			err), nil
	}
	defer func() {
		if p := recover(); p != nil {
			_, err := g.redact(perdure.Result{}, fmt.Errorf("%v", p))
			panic(err.Error())
		}
		res, err = g.redact(res, err)
	}()
	return fn(withRedactor(ctx, g.redactor()))
}

// redact takes every value out of a result and an error.
func (g *givenSecrets) redact(res perdure.Result, err error) (perdure.Result, error) {
	r := g.redactor()
	if r == nil {
		return res, err
	}
	if err != nil {
		if msg := r.replaceClipped(err.Error()); msg != err.Error() {
			err = &redacted{msg: msg, err: err}
		}
	}
	res.Note = r.replaceClipped(res.Note)
	var failed error
	if res.Data, failed = redactData(r, res.Data); failed != nil {
		return perdure.Result{}, failed
	}
	if len(res.Set) > 0 {
		set := make(map[string]perdure.Data, len(res.Set))
		for k, v := range res.Set {
			if set[r.replace(k)], failed = redactData(r, v); failed != nil {
				return perdure.Result{}, failed
			}
		}
		res.Set = set
	}
	return res, err
}

func redactData(r *redactor, d perdure.Data) (perdure.Data, error) {
	if len(d) == 0 {
		return d, nil
	}
	if err := d.Valid(); err != nil {
		return nil, errors.New("the result is not canonical data")
	}
	v, spread := r.replaceSpread(d.Value())
	v, changed := eachText(v, r.replace)
	if !changed && !spread {
		return d, nil
	}
	return perdure.DataOf(v)
}

// redacted is an error without the values its text had.
type redacted struct {
	msg string
	err error
}

func (e *redacted) Error() string { return e.msg }

// Is keeps what the error is, such as perdure.ErrIncapable. There is no Unwrap: the text of what it wraps is not to be
// shown.
func (e *redacted) Is(target error) bool { return errors.Is(e.err, target) }

// redactor is what takes the values out that are known by now; nil if there are none.
func (g *givenSecrets) redactor() *redactor {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made == nil || g.madeOf != len(g.values) {
		g.made, g.madeOf = newRedactor(g.values), len(g.values)
	}
	return g.made
}
