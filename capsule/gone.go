package capsule

import (
	"slices"

	"github.com/perdure/perdure"
)

// gone is what a memory says of bodies that were dropped, and who says so.
type gone struct {
	Scope  string        `json:"scope,omitempty"`
	Owners []perdure.Key `json:"owners,omitempty"` // by the charter, and whom they handed the agent to
	By     []record      `json:"by,omitempty"`
}

// record is how many bodies an author says were dropped.
type record struct {
	Key     perdure.Key `json:"key"`
	Entries int64       `json:"entries"`
}

// maxRecorders bounds the authors that are told apart: of others nobody believes it.
const maxRecorders = 256

// note takes in what an entry says. They come in order, the first of the agent first.
func (g *gone) note(e *perdure.Entry) {
	switch b := e.Content().(type) {
	case perdure.Genesis:
		g.Scope, g.Owners = b.Charter.Scope, []perdure.Key{b.Charter.Owner}
	case perdure.Event:
		switch n := b.Notice.(type) {
		case perdure.KeyChange:
			if !n.Owner.IsZero() && slices.Contains(g.Owners, e.Origin) && !slices.Contains(g.Owners, n.Owner) &&
				len(g.Owners) < maxRecorders {
				g.Owners = append(g.Owners, n.Owner)
			}
		case perdure.Pruned:
			g.add(e.Origin, n.Entries)
		}
	}
}

func (g *gone) add(by perdure.Key, entries int64) {
	i := slices.IndexFunc(g.By, func(r record) bool { return r.Key == by })
	switch {
	case i >= 0:
		g.By[i].Entries += entries
	case entries > 0 && len(g.By) < maxRecorders:
		g.By = append(g.By, record{by, entries})
	}
}

// known is how many bodies were dropped by those whose word t takes for it.
func (g *gone) known(t *perdure.Trust) (n int64) {
	for _, r := range g.By {
		if t == nil || slices.Contains(g.Owners, r.Key) || t.Allows(r.Key, perdure.MayOwn, g.Scope) {
			n += r.Entries
		}
	}
	return n
}
