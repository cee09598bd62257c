package perdure

import (
	"fmt"
	"strconv"
	"strings"
)

// Gathered is the trigger of a fan-in in a word:
//
//	all            every child has ended
//	any            one has ended ok, or none is left that could
//	quorum:N       N have ended ok, or fewer than N still can
//	first-failure  one has ended otherwise than ok, or all have ended
//
// It counts the children named; without any, those that live and those still to come, but not the ones that have ended
// before.
func (f *Fold) Gathered(enough string, children ...AgentID) (Trigger, error) {
	var before childCount
	if len(children) == 0 {
		before = f.count(nil)
	}
	g := Gather{Of: children}
	switch word, n, isQuorum := strings.Cut(enough, ":"); {
	case enough == "all":
	case enough == "any":
		g.OK = before.ok + 1
	case enough == "first-failure":
		g.Failed = before.failed + 1
	case word == "quorum" && isQuorum:
		need, err := strconv.ParseInt(n, 10, 32)
		if err != nil || need < 1 {
			return nil, fmt.Errorf("gather %q: want a number after quorum:, at least 1", enough)
		}
		if len(children) > 0 && need > int64(len(children)) {
			return nil, fmt.Errorf("gather %q: there are only %d children", enough, len(children))
		}
		g.OK = before.ok + need
	default:
		return nil, fmt.Errorf("gather %q: want all, any, quorum:N or first-failure", enough)
	}
	return g, nil
}

// childCount is how many children there are of each sort.
type childCount struct{ open, ok, failed int64 }

// count counts the children named, or all. One that is named and not known has ended long ago, nobody knows how.
func (f *Fold) count(of []AgentID) childCount {
	var n childCount
	hashes := make([]Hash, len(of))
	for i, id := range of {
		hashes[i] = Hash(id)
	}
	named := oneOf(hashes)
	for i := range f.Children {
		c := &f.Children[i]
		if len(of) > 0 && !named(Hash(c.Agent)) {
			continue
		}
		switch {
		case !c.Ended:
			n.open++
		case c.Signal == OK:
			n.ok++
		default:
			n.failed++
		}
	}
	if len(of) > 0 {
		n.failed = int64(len(of)) - n.open - n.ok
	}
	return n
}

func (q *question) gather(t Gather) outlook {
	n := q.f.count(t.Of)
	if n.open == 0 || (t.OK > 0 && (n.ok >= t.OK || n.ok+n.open < t.OK)) || (t.Failed > 0 && n.failed >= t.Failed) {
		return outlook{Met: true, Why: fmt.Sprintf("of its children %d live, %d ended ok, %d otherwise", n.open, n.ok,
			n.failed)}
	}
	return q.not(outlook{}, Pending{Trigger: t, Live: n.open, OK: n.ok, Failed: n.failed})
}
