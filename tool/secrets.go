package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// ErrUnknownSecret says that there is no secret of a name.
var ErrUnknownSecret = errors.New("unknown secret")

// Secrets gives out the values that arguments refer to.
type Secrets interface {
	// Secret returns the value of a name, or an error that wraps ErrUnknownSecret.
	Secret(ctx context.Context, name string) (string, error)
}

// KnownSecrets is a Secrets that can list what it has. With it, a value is taken out of results even if this process
// has not given it out: it may stand in a file that an earlier one wrote.
type KnownSecrets interface {
	Secrets
	// Secrets returns every value by its name.
	Secrets(ctx context.Context) (map[string]string, error)
}

// SecretMap is Secrets held in a map.
type SecretMap map[string]string

var _ KnownSecrets = SecretMap(nil)

// Secret implements Secrets.
func (m SecretMap) Secret(_ context.Context, name string) (string, error) {
	v, ok := m[name]
	if !ok {
		return "", fmt.Errorf("%s: %w", name, ErrUnknownSecret)
	}
	return v, nil
}

// Secrets implements KnownSecrets.
func (m SecretMap) Secrets(context.Context) (map[string]string, error) { return m, nil }

// WithSecrets returns tools whose arguments may refer to secrets: wherever a text in them says secret:NAME, the tool
// gets the value. In what it returns, the data, the state it sets, notes and errors, every value is replaced by its
// reference again: as it is, and where it was written in JSON, a URL, base64 or hexadecimal; also where an offset or a
// limit of the tool cuts through it. A reference to a secret there is none of is a failed outcome, and the tool is not
// called.
//
// A tool that transforms a value in another way, such as a command that reverses it, can still show it. Whether a tool
// may be given a secret is for policy to say, which sees the reference.
func WithSecrets(tools []perdure.Tool, secrets Secrets) []perdure.Tool {
	given := &givenSecrets{source: secrets}
	out := make([]perdure.Tool, len(tools))
	for i, t := range tools {
		w := &secretTool{Tool: t, given: given}
		out[i] = w
		if r, ok := t.(perdure.Reconciler); ok {
			out[i] = &secretReconciler{secretTool: w, reconciler: r}
		}
	}
	return out
}

// secretTool is a tool with secrets.
type secretTool struct {
	perdure.Tool
	given *givenSecrets
}

// CheckArgs implements perdure.ArgumentChecker.
func (t *secretTool) CheckArgs(args perdure.Data) error { return checkArgs(t.Tool, args) }

// Call implements perdure.Tool.
func (t *secretTool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	return t.given.call(ctx, c, t.Tool.Call)
}

// secretReconciler is a secretTool whose tool can reconcile.
type secretReconciler struct {
	*secretTool
	reconciler perdure.Reconciler
}

// Reconcile implements perdure.Reconciler. A secret it cannot find leaves the effect in doubt.
func (t *secretReconciler) Reconcile(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	args, err := t.given.resolve(ctx, c.Args)
	if err != nil {
		return perdure.Result{}, err
	}
	c.Args = args
	return t.given.clean(ctx, func(ctx context.Context) (perdure.Result, error) {
		return t.reconciler.Reconcile(ctx, c)
	})
}

// call resolves the arguments, calls, and takes the values out of what comes back.
func (g *givenSecrets) call(ctx context.Context, c perdure.Call,
	fn func(context.Context, perdure.Call) (perdure.Result, error)) (perdure.Result, error) {
	args, err := g.resolve(ctx, c.Args)
	if err != nil {
		if ctx.Err() != nil {
			return perdure.Result{}, ctx.Err()
		}
		return refused("%v", err), nil
	}
	c.Args = args
	return g.clean(ctx, func(ctx context.Context) (perdure.Result, error) { return fn(ctx, c) })
}

// resolve puts values in the place of references.
func (g *givenSecrets) resolve(ctx context.Context, args perdure.Data) (perdure.Data, error) {
	if len(args) == 0 || !strings.Contains(string(args), reference) {
		return args, nil
	}
	if err := args.Valid(); err != nil {
		return nil, err
	}
	var failed error
	v, changed := eachText(args.Value(), func(s string) string {
		if failed != nil {
			return s
		}
		s, failed = resolveText(ctx, s, g.get)
		return s
	})
	if failed != nil || !changed {
		return args, failed
	}
	return perdure.DataOf(v)
}

// reference begins a reference to a secret.
const reference = "secret:"

// resolveText puts values in the place of the references in a text.
func resolveText(ctx context.Context, s string, get func(context.Context, string) (string, error)) (string, error) {
	var out strings.Builder
	for {
		i := strings.Index(s, reference)
		if i < 0 {
			break
		}
		name := nameAt(s[i+len(reference):])
		end := i + len(reference) + len(name)
		if name == "" || (i > 0 && isWord(s[i-1])) {
			out.WriteString(s[:end])
			s = s[end:]
			continue
		}
		value, err := get(ctx, name)
		if err != nil {
			return "", err
		}
		out.WriteString(s[:i] + value)
		s = s[end:]
	}
	return out.String() + s, nil
}

// nameAt is the name a text begins with: letters, digits and underscores, not beginning with a digit.
func nameAt(s string) string {
	n := 0
	for n < len(s) && isWord(s[n]) && s[n] != '-' && (n > 0 || s[n] < '0' || s[n] > '9') {
		n++
	}
	return s[:n]
}

// isWord reports whether a byte can be part of a word, so that what follows it does not begin one.
func isWord(c byte) bool {
	return c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// eachText applies fn to every text of a value, keys of maps included, and reports whether something changed.
func eachText(v any, fn func(string) string) (any, bool) {
	changed := false
	switch v := v.(type) {
	case string:
		s := fn(v)
		return s, s != v
	case []byte:
		s := fn(string(v))
		return []byte(s), s != string(v)
	case []any:
		for i := range v {
			e, c := eachText(v[i], fn)
			v[i], changed = e, changed || c
		}
		return v, changed
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e, c := eachText(v[k], fn)
			key := fn(k)
			if key != k {
				delete(v, k)
			}
			v[key], changed = e, changed || c || key != k
		}
		return v, changed
	}
	return v, false
}
