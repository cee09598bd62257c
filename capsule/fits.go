package capsule

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// fits holds entries against the depth that the head claims, as they arrive: what a node may do rests on the depth, and
// nobody can fold a part of a memory that does not begin with a snapshot. A capsule of the whole memory fits as it is.
type fits struct {
	depth Depth
	part  bool // only the end is there, or only the bodies of the end
	begun *perdure.Position
	after map[short]struct{} // the snapshot, and the entries that follow it
}

func newFits(h *Head) fits {
	return fits{depth: h.Depth, part: h.Anchor != nil || h.Depth == perdure.Headers,
		after: map[short]struct{}{}}
}

// add checks the next entry; before is the one before it in the capsule.
func (f *fits) add(e *perdure.Entry, before perdure.Position, at int64) error {
	if !f.part {
		return nil
	}
	bad := func(path, got, want string) error { return of(reject(PredDepth, at, path, got, want), e) }
	if f.begun == nil {
		switch {
		case e.Kind == perdure.KindGenesis || f.depth == perdure.Headers && e.BodyBytes() == nil:
			return nil
		case e.Kind != perdure.KindSnapshot:
			return bad("$.body", "the body of an entry before the snapshot", "none but that of genesis")
		case f.depth == perdure.Headers && before.Seq >= e.Seq:
			return bad("$.header.seq", "a snapshot beside another entry", "one that has seen all entries before it")
		}
		here := e.Position()
		f.begun = &here
	} else if e.Seq <= f.begun.Seq || slices.ContainsFunc(e.Parents, func(p perdure.Hash) bool {
		return !f.follows(p)
	}) {
		return bad("$.header.parents", "an entry that reaches behind the snapshot", "only entries that follow it")
	}
	f.after[short(e.Name[:16])] = struct{}{}
	return nil
}

// follows reports whether an entry is the snapshot or came after it.
func (f *fits) follows(name perdure.Hash) bool {
	_, ok := f.after[short(name[:16])]
	return ok
}

// end checks that enough came.
func (f *fits) end(at int64) error {
	switch follow := int64(len(f.after)) - 1; {
	case !f.part:
		return nil
	case f.begun == nil:
		return reject(PredDepth, at, "$.depth", "no snapshot with its body", "one to begin with")
	case follow < f.depth.N:
		return reject(PredDepth, at, "$.depth", fmt.Sprint("a snapshot that ", follow, " entries follow"),
			fmt.Sprint("at least ", f.depth.N))
	}
	return nil
}
