package capsule

import (
	"fmt"
	"strconv"

	"github.com/perdure/perdure"
)

// DepthKind says what of a memory a capsule holds.
type DepthKind uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	full    DepthKind = iota // every entry, every body that was not dropped
	headers                  // every entry, recent bodies
	last                     // a snapshot and the entries after it
)

// CanonNames are the names of the wire numbers.
func (DepthKind) CanonNames() []string { return []string{"full", "headers", "last"} }

// Depth is how deep into the past of an agent a capsule reaches. The zero Depth is Full.
type Depth struct {
	Kind DepthKind `canon:"1,kind"`
	N    int64     `canon:"2,n,omitzero"` // of last: at least so many entries follow the snapshot
}

var (
	// Full holds the whole memory: everything can be checked, everything may be done.
	Full = Depth{}
	// Headers holds every header, genesis, and the bodies from the newest snapshot on: every link and signature can be checked, the
	// snapshot is taken on the word of who signed it.
	Headers = Depth{Kind: headers}
)

// Last holds the newest snapshot that at least n entries follow, and those; the whole memory if none is that old. Last(0) is the newest
// snapshot, what came after it, and the hash of everything before.
func Last(n int64) Depth { return Depth{Kind: last, N: max(n, 0)} }

// ParseDepth reads "full", "headers" or a number of entries.
func ParseDepth(s string) (Depth, error) {
	switch s {
	case "full":
		return Full, nil
	case "headers":
		return Headers, nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return Depth{}, fmt.Errorf("depth %.20q: want full, headers, or how many entries", s)
	}
	return Last(n), nil
}

func (d Depth) String() string {
	switch d.Kind {
	case full:
		return "full"
	case headers:
		return "headers"
	case last:
	}
	return strconv.FormatInt(d.N, 10)
}

// Allows reports whether a node that knows an agent only from a capsule of this depth may perform an effect of a class:
//
//	depth    read  idempotent  once
//	full     yes   yes         yes
//	headers  yes   yes         no
//	n > 0    yes   yes         no
//	0        yes   no          no
//
// What is done once needs the decisions and outcomes of the whole past, to show that it was not done yet: a snapshot is only somebody's
// word for it. What is idempotent needs the recent ones, for its key. Reading needs nothing.
func (d Depth) Allows(e perdure.Effect) bool {
	switch {
	case e == perdure.Read || d.Kind == full:
		return true
	case e == perdure.Idempotent:
		return d.Kind == headers || d.N > 0
	}
	return false
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

// ParseBinding reads the name of a binding.
func ParseBinding(s string) (Binding, error) {
	for i, n := range Binding(0).CanonNames() {
		if n == s {
			return Binding(i), nil
		}
	}
	return 0, fmt.Errorf("signature binding %.20q: want inline, detached or manifest", s)
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
