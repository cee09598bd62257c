package capsule

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Depth is how deep into the past of an agent a capsule reaches.
type Depth = perdure.Depth

// Holds is how much of a memory is in the capsule: without an anchor the last entries are all of them.
func (h *Head) Holds() Depth {
	if h.Depth.IsLast() && h.Anchor == nil {
		return perdure.Full
	}
	return h.Depth
}

// headAt is the head of the file of a store that holds a memory of a depth, which begins with an entry.
func headAt(id perdure.AgentID, d Depth, first *perdure.Entry) (Head, error) {
	h := newHead(id, 0)
	if err := d.CheckRoot(first); err != nil {
		return h, err
	}
	h.Depth = d
	if !d.IsLast() {
		return h, nil
	}
	var err error
	h.Anchor, err = anchorOf(first)
	return h, err
}

// before reports whether an entry is what the anchor stands for: known to exist, and not there.
func (h *Head) before(name perdure.Hash) bool {
	return h.Anchor != nil && slices.Contains(h.Anchor.Heads, name)
}

// Binding says where the signatures of a capsule are. The zero Binding is Inline.
type Binding uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	Inline       Binding = iota // in the entries
	Detached                    // in a file beside the capsule
	WithManifest                // in the entries, and one over the heads of many capsules
)

// CanonNames are the names of the wire numbers.
func (Binding) CanonNames() []string { return []string{"inline", "detached", "manifest"} }

func (b Binding) String() string {
	if names := b.CanonNames(); int(b) < len(names) {
		return names[b]
	}
	return fmt.Sprintf("binding %d", uint8(b))
}

// Form is how the content of a capsule is spelled. The zero Form is Binary.
type Form uint8

const (
	Binary    Form = iota // for transport and storage
	Described             // CBOR with names, the schema embedded, for any CBOR tool
	Text                  // JSON Lines, for people, diffs and git
)

var formNames = []string{"binary", "described", "text"}

func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return fmt.Sprintf("form %d", uint8(f))
}

// ParseForm reads the name of a form.
func ParseForm(s string) (Form, error) {
	for i, n := range formNames {
		if n == s {
			return Form(i), nil
		}
	}
	return 0, fmt.Errorf("form %.20q: want binary, described or text", s)
}
