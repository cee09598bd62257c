package perdure

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Right is what a key is trusted to do, one bit each.
type Right uint8

const (
	MayAuthor  Right = 1 << iota // write any entry but approvals and key changes
	MayApprove                   // answer what a person is asked
	MayOwn                       // own agents, and everything else
)

var rightNames = []string{"author", "approve", "own"}

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

// parseRights reads words joined by commas.
func parseRights(s string) (Right, error) {
	var r Right
	for word := range strings.SplitSeq(s, ",") {
		i := slices.Index(rightNames, word)
		if i < 0 {
			return 0, unknownName("right", word, rightNames)
		}
		r |= 1 << i
	}
	return r, nil
}

// has reports whether r includes want; to own is to be trusted with everything.
func (r Right) has(want Right) bool { return r&MayOwn != 0 || r&want == want }

// AnyScope is the scope of a trustee that stands for every scope.
const AnyScope = "*"

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
//	alice+c0ffee12+AX…  own             acme      # a key as KeyText writes it
//	3b6a27bcceb6a42d…   author,approve  acme/ops  # or 64 hex digits
//	-bob+00d15ea5+AY…                             # left in May
//
// A line that begins with a minus takes back everything the key was trusted with, wherever it stands. What that key wrote before stays good in
// a memory whose owner revoked the key as well, up to what the owner had seen: the place in memory counts, not the time. Nobody is trusted
// who is not named; the zero Trust trusts nobody.
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
		return t, fmt.Errorf("key %s is no key", key)
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

// String is the canonical text: lines by scope, then key.
func (t *Trust) String() string {
	var b strings.Builder
	for _, l := range t.lines {
		key := l.Key.String()
		if l.Name != "" {
			key = KeyText(l.Name, l.Key)
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

// granted reports whether a line gives the right, taken back or not. In an agent whose scope is NoScope nothing can be done any more, so
// whoever is trusted with the right anywhere may write its end.
func (t *Trust) granted(k Key, right Right, scope string) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool {
		return l.Key == k && !l.Revoked && l.Rights.has(right) && (l.Scope == AnyScope || scope == NoScope || InScope(scope, l.Scope))
	})
}

func (t *Trust) revoked(k Key) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool { return l.Key == k && l.Revoked })
}

// Check refuses (key.trusted) a memory with an entry whose author had no right to write it in the scope in force at its place in memory, or
// with an owner who is not trusted to own it. It verifies the memory on the way.
func (t *Trust) Check(entries iter.Seq2[*Entry, error]) error {
	_, err := Verify(entries, VerifyOptions{Trust: t})
	return err
}

// Admit is a.Apply for entries that others wrote: it refuses (key.trusted) those of them whose author has no right to write them. Entries
// that are held are judged when they are folded.
func (t *Trust) Admit(a *Agent, entries ...*Entry) (*Agent, error) {
	c := trustCheck{trust: t, only: make(map[Hash]bool, len(entries)+len(a.held))}
	for _, list := range [][]*Entry{entries, a.held} {
		for _, e := range list {
			c.only[e.Name] = true
		}
	}
	watched := *a
	watched.watch = c.watch
	next, err := watched.Apply(entries...)
	if err != nil {
		return nil, err
	}
	if err := c.verdict(next.fold); err != nil {
		return nil, err
	}
	next.watch = a.watch
	return next, nil
}

// trustCheck judges entries as they are folded.
type trustCheck struct {
	trust  *Trust
	only   map[Hash]bool // judge these; nil: all
	blind  bool          // bodies are gone, and with them what the scope is
	doubts map[Hash]doubt
}

// doubt is an entry somebody may not have been trusted to write.
type doubt struct {
	*Entry
	key   Key
	right Right
	scope string // empty: not known
}

// watch judges an entry by the fold before it. It may judge it again, when entries are folded again: the last time counts.
func (c *trustCheck) watch(f *Fold, e *Entry, void bool) {
	if c.only != nil && !c.only[e.Name] {
		return
	}
	delete(c.doubts, e.Name)
	if void {
		return // it counts for nothing
	}
	scope, owner := f.Charter.Scope, Key{}
	if c.blind {
		scope = ""
	}
	if g, ok := e.content.(Genesis); ok {
		scope, owner = g.Charter.Scope, g.Charter.Owner
	} else if k, ok := e.keyChange(); ok && e.Origin == f.Charter.Owner {
		owner = k.Owner
	}
	for _, d := range []doubt{{e, e.Origin, rightFor(e), scope}, {e, owner, MayOwn, scope}} {
		if d.key.IsZero() || (scope != "" && c.trust.Allows(d.key, d.right, scope)) {
			continue
		}
		if c.doubts == nil {
			c.doubts = map[Hash]doubt{}
		}
		c.doubts[e.Name] = d
		return
	}
}

// verdict refuses the first entry in doubt. What a key wrote that is trusted no more stays good where the memory itself revoked the key: the
// owner had seen it. Where bodies are gone and with them the scope of their time, the present one counts.
func (c *trustCheck) verdict(f *Fold) error {
	var first *doubt
	for _, d := range c.doubts {
		if d.scope == "" {
			d.scope = f.Charter.Scope
		}
		if c.trust.Allows(d.key, d.right, d.scope) {
			continue
		}
		if slices.Contains(f.Revoked, d.key) && c.trust.granted(d.key, d.right, d.scope) {
			continue
		}
		if first == nil || d.Position().Compare(first.Position()) < 0 {
			first = &d
		}
	}
	if first == nil {
		return nil
	}
	return untrusted(first.Entry, first.key, first.right, first.scope)
}

// rightFor is the right that writing e takes. Of an event without its body nobody can tell: any right will do.
func rightFor(e *Entry) Right {
	if e.Kind != KindEvent {
		return MayAuthor
	}
	ev, ok := e.content.(Event)
	if !ok {
		return 0
	}
	switch ev.Notice.(type) {
	case Approval:
		return MayApprove
	case KeyChange:
		return MayOwn
	case nil, ChildEnded, Pause, Resume, Grant, Settle, Cancel, Doubt, Edit, Pruned, Erased, Escalated, Enclosed, Joined:
	}
	return MayAuthor
}

func untrusted(e *Entry, k Key, r Right, scope string) *Rejection {
	want := r.String()
	if want == "" {
		want = "any right"
	}
	return reject(predTrusted, e, "$.header.origin", k.Short()+", who is not trusted with it", want+" in scope "+scope, "if you trust this key, add a line to the trust file: "+k.String()+" "+want+" "+scope)
}
