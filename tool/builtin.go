package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// Builtins are the tools that serve the agent itself: Remember, Recall and Now.
func Builtins(store perdure.Store) []perdure.Tool {
	return []perdure.Tool{Remember(), Recall(store), Now()}
}

// Remember is the tool remember: it keeps a value in the agent's own state under a name, in the place of what was
// there; null takes the name out. The state goes where the agent goes, and conditions read it as vars. Outside the
// agent it changes nothing: its class is read.
func Remember() perdure.Tool {
	type args struct {
		Name  string       `json:"name" jsonschema:"the name to keep it under"`
		Value perdure.Data `json:"value" jsonschema:"any value; null forgets the name"`
	}
	spec := perdure.Spec{Name: "remember", Description: "keeps a value in your own state under a name; null forgets it",
		Effect: perdure.Read}
	return newTyped(spec, func(_ context.Context, _ perdure.Call, a args) (perdure.Result, error) {
		switch {
		case a.Name == "" || len(a.Name) > maxStateName:
			return refused("arguments of remember: field name: give a name of at most %d bytes", maxStateName), nil
		case len(a.Value) > maxRemembered:
			return refused("arguments of remember: field value: it has %d bytes, and %d are the most; put it in a "+
				"file and remember where", len(a.Value), maxRemembered), nil
		}
		return perdure.Result{Set: map[string]perdure.Data{a.Name: a.Value}}, nil
	})
}

// Recall is the tool recall: it returns what the agent's state has under a name, or, without one, all of it, as the
// node has derived it. A value that an effect under way beside it sets is not there yet. The store is read for whoever
// calls it outside a node.
func Recall(store perdure.Store) perdure.Tool {
	type args struct {
		Name string `json:"name,omitempty" jsonschema:"the name it was kept under; none: everything"`
	}
	spec := perdure.Spec{Name: "recall", Description: "returns what you keep in your own state", Effect: perdure.Read}
	return newTyped(spec, func(ctx context.Context, c perdure.Call, a args) (perdure.Result, error) {
		vars, err := stateOf(ctx, store, &c)
		if err != nil {
			return perdure.Result{}, err
		}
		if a.Name == "" {
			all := make(map[string]any, len(vars))
			for k, v := range vars {
				all[k] = v
			}
			data, err := perdure.DataOf(all)
			return perdure.Result{Data: data}, err
		}
		v, ok := vars[a.Name]
		if !ok {
			return refused("nothing is kept under %q; there is %s", clip(a.Name), names(vars)), nil
		}
		return perdure.Result{Data: v}, nil
	})
}

// stateOf is the state of the agent that calls.
func stateOf(ctx context.Context, store perdure.Store, c *perdure.Call) (map[string]perdure.Data, error) {
	if c.Caller != nil {
		return c.Caller.Vars, nil
	}
	a, err := perdure.Load(ctx, store, c.Agent)
	if errors.Is(err, perdure.ErrNotFound) { // its first entries are not written yet
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a.Fold().Vars, nil
}

// names lists the names of a state for people.
func names(vars map[string]perdure.Data) string {
	if len(vars) == 0 {
		return "nothing yet"
	}
	return clip(fmt.Sprintf("%q", slices.Sorted(maps.Keys(vars))))
}

// Now is the tool now: it returns the time of the node, in a zone if one is named.
func Now() perdure.Tool {
	type args struct {
		Zone string `json:"zone,omitempty" jsonschema:"a time zone such as Europe/Oslo; none: UTC"`
	}
	spec := perdure.Spec{Name: "now", Description: "returns the date and time", Effect: perdure.Read}
	return newTyped(spec, func(_ context.Context, _ perdure.Call, a args) (perdure.Result, error) {
		zone, err := time.LoadLocation(a.Zone)
		if err != nil || a.Zone == "Local" {
			return refused("arguments of now: field zone: %q is not a time zone here; want one such as Europe/Oslo",
				clip(a.Zone)), nil
		}
		now := time.Now().In(zone)
		data, err := perdure.DataOf(map[string]any{"time": now.Format(time.RFC3339), "unix_ms": now.UnixMilli(),
			"weekday": now.Weekday().String()})
		return perdure.Result{Data: data}, err
	})
}

// Cancel is the tool cancel: it ends children of the agent that calls it, and theirs with them. An agent that is not
// its child is left alone.
func Cancel(n Agents) perdure.Tool {
	type args struct {
		Child string `json:"child" jsonschema:"the id of the child to end"`
		Note  string `json:"note,omitempty" jsonschema:"why"`
	}
	spec := perdure.Spec{Name: "cancel", Description: "ends an agent that you delegated to, and those it delegated to",
		Effect: perdure.Idempotent}
	return newTyped(spec, func(ctx context.Context, c perdure.Call, a args) (perdure.Result, error) {
		var id perdure.AgentID
		if err := id.UnmarshalText([]byte(a.Child)); err != nil {
			return refused("arguments of cancel: field child: %q is not the id of an agent", clip(a.Child)), nil
		}
		f, why, err := other(ctx, n, id)
		if err != nil {
			return perdure.Result{}, err
		}
		if why != "" {
			return refused("cancel: %s", why), nil
		}
		switch l := f.Lineage; {
		case l == nil || l.Relation != perdure.Child || l.Parent != c.Agent:
			return refused("cancel: agent %s is not your child", id.Short()), nil
		case f.Ended != nil:
			return perdure.Result{Note: "it had ended before: " + f.Ended.Signal.String()}, nil
		}
		if a.Note == "" {
			a.Note = "cancelled by its parent"
		}
		_, err = n.Tell(ctx, id, perdure.Event{Name: "cancel", By: c.Agent.String(), ID: c.Key,
			Notice: perdure.Cancel{Note: a.Note}})
		if errors.Is(err, perdure.ErrTerminated) {
			err = nil // just now, by itself
		}
		return perdure.Result{}, err
	})
}
