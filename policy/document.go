package policy

import (
	"time"

	"github.com/perdure/perdure"
)

// The actions on documents.
const (
	actionRead  = "document.read"
	actionWrite = "document.write"
)

// Document is a document that an agent wants to read or write.
type Document struct {
	Write bool
	Path  string
	Kind  string
	Tier  string      // who may see it at all: private, team, public or custom
	Scope string      // of the memory that holds it
	Node  perdure.Key // where it is read or written

	Owner   perdure.Key // as of a perdure.Request, and so is Tainted
	Tainted bool
	Unnamed bool // nothing is permitted for the name of the agent: it is that of somebody else
}

// Document answers whether an agent may read or write a document. Nothing is permitted that no rule permits. What would
// take a person's approval is answered with Ask, and is not to be done: there is nobody to wait for.
func (s *Set) Document(a *perdure.Agent, d Document, now time.Time) perdure.Verdict {
	ar := arenas.Get().(*arena)
	defer ar.release()
	v := documentFacts(ar, a, &d, now)
	return s.decideValue(&v)
}

// DocumentFacts are the facts of an agent that wants to read or write a document.
func DocumentFacts(a *perdure.Agent, d Document, now time.Time) Facts {
	v := documentFacts(new(arena), a, &d, now)
	f, _ := v.plain().(map[string]any)
	return f
}

func documentFacts(ar *arena, a *perdure.Agent, d *Document, now time.Time) value {
	f := a.Fold()
	r := &perdure.Request{Node: d.Node, Owner: d.Owner, Tainted: d.Tainted}
	moment := momentOf(ar, f, r, perdure.TimeOf(now.Truncate(time.Second)))
	action := actionRead
	if d.Write {
		action = actionWrite
	}
	about := ar.list([]named{{"kind", text(d.Kind)}, {"path", text(d.Path)}, {"tier", text(d.Tier)}})
	if d.Unnamed {
		nameless := *f
		nameless.Intent.Name = ""
		f = &nameless
	}
	return factsAbout(ar, f, r, action, d.Scope, ar.record(moment, about))
}
