package tool

import (
	"context"
	"path"

	"github.com/perdure/perdure"
)

// Trust returns tools of which those with these names bring no text of strangers: what they return does not taint the
// agent. A name may be a pattern such as files.*. Without it, whatever Shell, Files, HTTP and MCP read out of the world
// does, since anybody may have written it, and policy can make an agent that has read it ask before it acts.
func Trust(tools []perdure.Tool, names ...string) ([]perdure.Tool, error) {
	out := make([]perdure.Tool, len(tools))
	for i, t := range tools {
		out[i] = t
		for _, pattern := range names {
			ok, err := path.Match(pattern, t.Spec().Name)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			out[i] = &trusted{t}
			if r, ok := t.(perdure.Reconciler); ok {
				out[i] = &trustedReconciler{trusted{t}, r}
			}
		}
	}
	return out, nil
}

// trusted is a tool whose results are taken at their word.
type trusted struct{ perdure.Tool }

// CheckArgs implements perdure.ArgumentChecker.
func (t *trusted) CheckArgs(args perdure.Data) error { return checkArgs(t.Tool, args) }

// Call implements perdure.Tool.
func (t *trusted) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	res, err := t.Tool.Call(ctx, c)
	res.Taint = false
	return res, err
}

// trustedReconciler is a trusted tool that can reconcile.
type trustedReconciler struct {
	trusted
	reconciler perdure.Reconciler
}

// Reconcile implements perdure.Reconciler.
func (t *trustedReconciler) Reconcile(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	res, err := t.reconciler.Reconcile(ctx, c)
	res.Taint = false
	return res, err
}

// checkArgs asks a tool that is wrapped about its arguments.
func checkArgs(t perdure.Tool, args perdure.Data) error {
	if c, ok := t.(perdure.ArgumentChecker); ok {
		return c.CheckArgs(args)
	}
	return nil
}
