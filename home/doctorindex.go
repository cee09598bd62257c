package home

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// maxDiffering is how many agents whose index is wrong a doctor names; the others are counted.
const maxDiffering = 16

// index compares what the store lists of every agent with the agent's own memory. A listing is derived: one that says
// otherwise is stale, or somebody has written to the index.
func (d *Doctor) index(ctx context.Context, s perdure.Store, listed []perdure.Listing) error {
	defer d.h.Progressed("compare the index", int64(len(listed)), int64(len(listed)))
	wrong, read, behind := 0, int64(0), int64(0)
	for i, one := range listed {
		d.h.Progressed("compare the index", int64(i), int64(len(listed)))
		if one.Behind {
			behind++
			continue // whoever lists it folds it
		}
		a, err := perdure.Load(ctx, s, one.Agent)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // its memory is looked at by itself
		}
		read++
		now := time.Now()
		lies, lags := Differs(one, a.Listing(now), perdure.TimeOf(now))
		if len(lies)+len(lags) == 0 {
			continue
		}
		if wrong++; wrong > maxDiffering {
			continue
		}
		health := Odd // a node may have been stopped before it wrote the index
		if len(lies) > 0 {
			health = Unwell
		}
		d.say("index", health, "perdure doctor --reindex", "%s: %s", one.Agent.Short(),
			strings.Join(append(lies, lags...), "; "))
	}
	if behind > 0 {
		d.say("index", Well, "", "%s whose lines a node has yet to write: lists show them as their memories have them",
			view.Several(behind, "agent"))
	}
	switch {
	case wrong > maxDiffering:
		d.say("index", Unwell, "perdure doctor --reindex", "%s more are listed otherwise than their memory says",
			view.Several(int64(wrong-maxDiffering), "agent"))
	case wrong == 0 && read > 0:
		d.say("index", Well, "", "says of %s", view.Counted(read, "agent what its memory says",
			"agents what their memories say"))
	}
	return nil
}

// Differs says how a listing differs from the fold: in what never changes by itself, and in what a listing may be
// behind with.
func Differs(listed, fold perdure.Listing, now perdure.Time) (lies, lags []string) {
	tell := func(to *[]string, what string, index, memory any) {
		if index != memory {
			*to = append(*to, fmt.Sprintf("%s is %s in the index and %s in its memory", what, view.Quoted(index),
				view.Quoted(memory)))
		}
	}
	tell(&lies, "name", listed.Name, fold.Name)
	tell(&lies, "scope", listed.Scope, fold.Scope)
	tell(&lags, "kind", listed.Kind, fold.Kind)
	if !maps.Equal(listed.Labels, fold.Labels) {
		lags = append(lags, fmt.Sprintf("labels are %s in the index and %s in its memory", view.Quoted(listed.Labels),
			view.Quoted(fold.Labels)))
	}
	tell(&lags, "state", listed.State.String(), fold.State.String())
	// a node may know why, and the memory not: a seat, whom it trusts; and time alone can make it so, once it is due
	if listed.Due == 0 || listed.Due > now {
		tell(&lags, "waiting for a person", listed.Waiting, listed.Waiting || fold.Waiting)
	}
	tell(&lags, "entries", listed.Entries, fold.Entries)
	due := func(t perdure.Time) perdure.Time {
		if t != 0 && t <= now {
			return now // whether it is due is what counts
		}
		return t
	}
	if fold.State != phase.Terminated {
		tell(&lags, "due", due(listed.Due).String(), due(fold.Due).String())
	}
	return lies, lags
}
