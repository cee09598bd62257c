package canon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrRejected matches every *Rejection with errors.Is.
var ErrRejected = errors.New("rejected")

// The phases of validation, in the order they run.
const (
	PhaseStructure = "structure"
	PhaseField     = "field"
	PhaseInvariant = "invariant"
	PhaseLineage   = "lineage"
	PhaseSignature = "signature"
)

// Rejection says why a value was refused. Predicate is stable; Got, Want and Hint are for people.
type Rejection struct {
	Phase     string   `json:"phase"`
	Predicate string   `json:"predicate"`
	Path      string   `json:"path,omitempty"`
	Offset    int64    `json:"offset"` // of the offending item in the input; when encoding, in the output
	Entry     string   `json:"entry,omitempty"`
	Lineage   []string `json:"lineage,omitempty"`
	Got       string   `json:"got,omitempty"`
	Want      string   `json:"want,omitempty"`
	Hint      string   `json:"hint,omitempty"`
}

// Error returns the rejection as one line.
func (r *Rejection) Error() string {
	var s strings.Builder
	s.WriteString("rejected by ")
	s.WriteString(r.Predicate)
	if r.Entry != "" {
		fmt.Fprintf(&s, " in entry %.12s", r.Entry)
	}
	if r.Path != "" {
		fmt.Fprintf(&s, " at %s", r.Path)
	}
	fmt.Fprintf(&s, " (byte %d)", r.Offset)
	switch {
	case r.Got != "" && r.Want != "":
		fmt.Fprintf(&s, ": got %s, want %s", r.Got, r.Want)
	case r.Got != "":
		fmt.Fprintf(&s, ": got %s", r.Got)
	case r.Want != "":
		fmt.Fprintf(&s, ": want %s", r.Want)
	}
	if r.Hint != "" {
		s.WriteString("; ")
		s.WriteString(r.Hint)
	}
	return s.String()
}

// Is reports whether target is ErrRejected.
func (r *Rejection) Is(target error) bool { return target == ErrRejected }

// reject makes a rejection whose path is filled in by the callers it passes through.
func reject(pred string, offset int64, got, want string) *Rejection {
	return Reject(Predicates, pred, offset, got, want)
}

// Reject makes a rejection by one of the rules, from which it has its phase and hint.
func Reject(rules []Predicate, pred string, offset int64, got, want string) *Rejection {
	r := &Rejection{Phase: PhaseStructure, Predicate: pred, Offset: offset, Got: got, Want: want}
	for i := range rules {
		if rules[i].Name == pred {
			r.Phase, r.Hint = rules[i].Phase, rules[i].Hint
			break
		}
	}
	return r
}

// under puts a path segment in front of the path. A path that gets long loses its middle.
func (r *Rejection) under(segment string) *Rejection {
	const long, tail = 512, 128
	if len(r.Path) > long {
		r.Path = "…" + strings.ToValidUTF8(r.Path[len(r.Path)-tail:], "")
	}
	r.Path = segment + r.Path
	return r
}

// rooted completes the path, and keeps a nil rejection a nil error.
func rooted(r *Rejection) error {
	if r == nil {
		return nil
	}
	r.Path = "$" + r.Path
	return r
}

// keySegment is the path segment of a map key.
func keySegment(key string) string {
	plain := key != "" && len(key) <= 64
	for i := 0; plain && i < len(key); i++ {
		c := key[i]
		plain = c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if plain {
		return "." + key
	}
	return "[" + clip(key) + "]"
}

// indexSegment is the path segment of a list element.
func indexSegment(k uint64) string { return "[" + strconv.FormatUint(k, 10) + "]" }

// clip quotes s for a message, shortened.
func clip(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q…", s[:40])
	}
	return fmt.Sprintf("%q", s)
}
