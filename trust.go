package perdure

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/canon"
)

// Right is what a key is trusted to do, one bit each.
type Right uint8

const (
	MayAuthor  Right = 1 << iota // write any entry but a person's word and key changes
	MayApprove                   // answer what a person is asked, settle and resume
	MayOwn                       // own agents, and everything else
	MayBegin                     // begin agents in the name of their owner, as children of others are begun
)

var rightNames = []string{"author", "approve", "own", "begin"}

// String is the rights as a trust file writes them.
func (r Right) String() string {
	var names []string
	for i, n := range rightNames {
		if r&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ",")
}

// MarshalText writes the rights as String does.
func (r Right) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads words joined by commas; nothing is no right.
func (r *Right) UnmarshalText(b []byte) (err error) {
	if *r = 0; len(b) > 0 {
		*r, err = parseRights(string(b))
	}
	return err
}

// parseRights reads words joined by commas.
func parseRights(s string) (Right, error) {
	var r Right
	for word := range strings.SplitSeq(s, ",") {
		i := slices.Index(rightNames, word)
		if i < 0 {
			return 0, canon.UnknownName("right", word, rightNames)
		}
		r |= 1 << i
	}
	return r, nil
}

// has reports whether r includes want; to own is to be trusted with everything.
func (r Right) has(want Right) bool { return r&MayOwn != 0 || r&want == want }

// Trustee is a key and what it is trusted with.
type Trustee struct {
	Key     Key
	Name    string // what people call the key
	Rights  Right
	Scope   string // this scope and below; AnyScope: everywhere
	Comment string
	Revoked bool // everything the key was trusted with is taken back
}

// Trust is whom a node trusts, now. It is a text file of lines `KEY RIGHTS SCOPE [# comment]`:
//
//	alice+c0ffee12+AX…  own             acme      # a key as Trust.String writes it
//	3b6a27bcceb6a42d…   author,approve  acme/ops  # or 64 hex digits
//	-bob+00d15ea5+AY…                             # left in May
//
// A line that begins with a minus takes back everything the key was trusted with, wherever it stands. What that key
// wrote before stays good in a memory whose owner revoked the key as well, up to what the owner had seen: the place in
// memory counts, not the time. Nobody is trusted who is not named; the zero Trust trusts nobody.
type Trust struct {
	lines []Trustee // as canonical text orders them
}

// NewTrust trusts these.
func NewTrust(trustees ...Trustee) *Trust { return new(Trust).With(trustees...) }

// With is t and more lines.
func (t *Trust) With(trustees ...Trustee) *Trust {
	lines := append(slices.Clone(t.lines), trustees...)
	slices.SortStableFunc(lines, func(a, b Trustee) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), Hash(a.Key).Compare(Hash(b.Key)), cmp.Compare(a.Rights, b.Rights))
	})
	return &Trust{lines: slices.CompactFunc(lines, func(a, b Trustee) bool {
		return a.Key == b.Key && a.Scope == b.Scope && a.Rights == b.Rights && a.Revoked == b.Revoked
	})}
}

// Again is t with one more line. If its key was revoked, the line is all that the key is trusted with from now on: what
// was taken back stays so.
func (t *Trust) Again(who Trustee) *Trust {
	lines := slices.Clone(t.lines)
	if !who.Revoked && t.revoked(who.Key) {
		lines = slices.DeleteFunc(lines, func(l Trustee) bool { return l.Key == who.Key })
	}
	return NewTrust(append(lines, who)...)
}

// Namesake is another key that is called as who is, if there is one: policies ask people by their names, and would take
// one for the other.
func (t *Trust) Namesake(who Trustee) (Key, bool) {
	i := slices.IndexFunc(t.lines, func(l Trustee) bool {
		return who.Name != "" && l.Name == who.Name && l.Key != who.Key && !t.revoked(l.Key)
	})
	if i < 0 || who.Revoked {
		return Key{}, false
	}
	return t.lines[i].Key, true
}

// ParseTrust reads a trust file.
func ParseTrust(r io.Reader) (*Trust, error) {
	var lines []Trustee
	in := bufio.NewScanner(r)
	for n := 1; in.Scan(); n++ {
		text, comment, _ := strings.Cut(in.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		line, err := parseTrustee(words)
		if err != nil {
			return nil, fmt.Errorf("trust line %d: %w", n, err)
		}
		line.Comment = strings.TrimSpace(comment)
		lines = append(lines, line)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read trust: %w", err)
	}
	return NewTrust(lines...), nil
}

func parseTrustee(words []string) (t Trustee, err error) {
	key, revoked := strings.CutPrefix(words[0], "-")
	if t.Key, t.Name, err = ParseKey(key); err != nil {
		return t, err
	}
	if t.Key.IsZero() {
		return t, fmt.Errorf("%s is not a key", key)
	}
	if reserved(t.Name) { // from before names were; it counts as a key without one
		t.Name = ""
	}
	t.Revoked = revoked
	switch {
	case revoked && len(words) == 1:
		return t, nil
	case revoked:
		return t, fmt.Errorf("-%.16s…: want nothing after a key that is taken back, got %q", key, words[1])
	case len(words) != 3:
		return t, fmt.Errorf("got %d words, want KEY RIGHTS SCOPE", len(words))
	}
	if t.Rights, err = parseRights(words[1]); err != nil {
		return t, err
	}
	if t.Scope = words[2]; t.Scope != AnyScope {
		err = CheckScope(t.Scope)
	}
	return t, err
}

// Trustees yields the lines.
func (t *Trust) Trustees() []Trustee { return slices.Clone(t.lines) }

// nameOf is what people call a key, for messages: its name here and the beginning of the key, or that alone.
func (t *Trust) nameOf(k Key) string {
	if name := t.name(k); name != "" {
		return name + " (" + k.Short() + ")"
	}
	return k.Short()
}

// name is what the first line that names a key calls it; "": none does.
func (t *Trust) name(k Key) string {
	for _, l := range t.lines {
		if l.Key == k && l.Name != "" {
			return l.Name
		}
	}
	return ""
}

// Names are what the keys of the file are called, by the first line that says so; empty: none does.
func (t *Trust) Names() map[Key]string {
	names := map[Key]string{}
	for _, l := range t.lines {
		names[l.Key] = cmp.Or(names[l.Key], l.Name)
	}
	return names
}

// knows reports whether a line of the file is about a key, and nothing takes it back.
func (t *Trust) knows(k Key) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool { return l.Key == k }) && !t.revoked(k)
}

// Stranger is what somebody is called of whom nothing is known but this key, and what they call themselves.
func (k Key) Stranger(as string) string {
	if as == "" {
		return "a stranger (key " + k.Short() + ")"
	}
	return "a stranger (key " + k.Short() + ", under the name " + as + ")"
}

// String is the canonical text: lines by scope, then key.
func (t *Trust) String() string {
	var b strings.Builder
	for _, l := range t.lines {
		key := l.Key.String()
		if l.Name != "" {
			key = keyText(l.Name, l.Key)
		}
		if l.Revoked {
			b.WriteString("-" + key)
		} else {
			b.WriteString(key + " " + l.Rights.String() + " " + l.Scope)
		}
		if l.Comment != "" {
			b.WriteString(" # " + l.Comment)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// WriteTo writes the canonical text.
func (t *Trust) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, t.String())
	return int64(n), err
}

// Allows reports whether a key is trusted with a right in a scope, now.
func (t *Trust) Allows(k Key, right Right, scope string) bool {
	return t.granted(k, right, scope) && !t.revoked(k)
}

// granted reports whether a line gives the right, taken back or not.
func (t *Trust) granted(k Key, right Right, scope string) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool {
		return l.Key == k && !l.Revoked && l.Rights.has(right) && (l.Scope == AnyScope || InScope(scope, l.Scope))
	})
}

func (t *Trust) revoked(k Key) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool { return l.Key == k && l.Revoked })
}
