package action

import (
	"slices"

	"github.com/perdure/perdure"
)

// Enough are the words for when enough children have ended, as perdure.Fold.Gathered reads them.
const Enough = "all, any, quorum:N or first-failure"

// Gather is the trigger of such a word, as if no child had ended before; Since counts those that have.
func Gather(word string, children ...perdure.AgentID) (perdure.Trigger, error) {
	return new(perdure.Fold).Gathered(word, children...)
}

// Since makes the actions proposed to an agent wait for the children it has now and will have, not for those that have
// ended before.
func Since(f *perdure.Fold, actions []perdure.Action) {
	var ok, failed int64
	for i := range f.Children {
		switch c := &f.Children[i]; {
		case c.Ended && c.Signal == perdure.OK:
			ok++
		case c.Ended:
			failed++
		}
	}
	if ok+failed == 0 {
		return
	}
	var from func(t perdure.Trigger) perdure.Trigger
	all := func(of []perdure.Trigger) []perdure.Trigger {
		of = slices.Clone(of)
		for i := range of {
			of[i] = from(of[i])
		}
		return of
	}
	from = func(t perdure.Trigger) perdure.Trigger {
		switch t := t.(type) {
		case perdure.Gather:
			if len(t.Of) > 0 {
				return t
			}
			if t.OK > 0 {
				t.OK += ok
			}
			if t.Failed > 0 {
				t.Failed += failed
			}
			return t
		case perdure.Any:
			return perdure.Any{Of: all(t.Of)}
		case perdure.All:
			return perdure.All{Of: all(t.Of)}
		case perdure.At, perdure.After, perdure.On, perdure.Done, perdure.When, perdure.Every:
		}
		return t
	}
	for i, act := range actions {
		if s, isSleep := act.(perdure.Sleep); isSleep {
			s.Trigger = from(s.Trigger)
			actions[i] = s
		}
	}
}
