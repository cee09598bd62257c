package perdure

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
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

// Again is t with one more line. If its key was revoked, the line is all that the key is trusted with from now on: what was taken back stays so.
func (t *Trust) Again(who Trustee) *Trust {
	lines := slices.Clone(t.lines)
	if !who.Revoked && t.revoked(who.Key) {
		lines = slices.DeleteFunc(lines, func(l Trustee) bool { return l.Key == who.Key })
	}
	return NewTrust(append(lines, who)...)
}

// Namesake is another key that is called as who is, if there is one: policies ask people by their names, and would take one for the other.
func (t *Trust) Namesake(who Trustee) (Key, bool) {
	i := slices.IndexFunc(t.lines, func(l Trustee) bool { return who.Name != "" && l.Name == who.Name && l.Key != who.Key && !l.Revoked })
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
	for _, who := range t.lines {
		if who.Key == k && who.Name != "" {
			return who.Name + " (" + k.Short() + ")"
		}
	}
	return k.Short()
}

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

// granted reports whether a line gives the right, taken back or not.
func (t *Trust) granted(k Key, right Right, scope string) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool {
		return l.Key == k && !l.Revoked && l.Rights.has(right) && (l.Scope == AnyScope || InScope(scope, l.Scope))
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

// Counts refuses (key.trusted) an agent with an entry that does not count here: whose author is neither trusted with the right it took, nor
// given it by a charter that has a say. A node does nothing for such an agent, whatever its entries say.
//
// A snapshot or an admission on top of all that was there, by somebody trusted to own the agent, vouches for everything before it.
func (t *Trust) Counts(a *Agent) error {
	var first *authored
	for w := a.authors; w != nil && !t.vouches(w); w = w.before {
		if !t.counts(a, w) {
			first = w
		}
	}
	if first == nil {
		return nil
	}
	return untrusted(first)
}

// vouches reports whether everything before an entry counts because of its author.
func (t *Trust) vouches(w *authored) bool { return w.vouch && t.Allows(w.key, MayOwn, w.scope) }

// vouchedAt is how many entries an agent had when somebody trusted to own it last vouched for it.
func (t *Trust) vouchedAt(a *Agent) int64 {
	for w := a.authors; w != nil; w = w.before {
		if t.vouches(w) {
			return w.count
		}
	}
	return 0
}

func (t *Trust) counts(a *Agent, w *authored) bool {
	if w.key.IsZero() {
		return false // there were too many to tell
	}
	f := a.fold
	granted, revoked := t.granted(w.key, w.right, w.scope), t.revoked(w.key)
	switch {
	case granted && (!revoked || t.hadSeen(a, w)):
		return true
	case revoked || w.right.has(MayOwn):
		return false
	case t.admitted(f, w.scope):
		if w.key == f.Charter.Owner {
			return true
		}
	case !t.owned(f, w.scope):
		return false
	}
	if w.right == MayApprove {
		return slices.Contains(f.Charter.Approvers, w.key)
	}
	return slices.Contains(f.Charter.Delegates, w.key)
}

// hadSeen reports whether the owner of an agent, trusted here, revoked a key in its memory as well: then what the key had written stays good. A
// thief of the key can write such a revocation, too, but nothing in the name of an owner who has another.
func (t *Trust) hadSeen(a *Agent, w *authored) bool {
	f := a.fold
	if !slices.Contains(f.Revoked, w.key) || w.key == f.Charter.Owner || !t.owned(f, w.scope) {
		return false
	}
	for u := a.authors; u != nil; u = u.before {
		if u.key == f.Charter.Owner && u.right != MayOwn {
			return true
		}
	}
	return false
}

// owned reports whether the charter is that of an owner trusted here: who signed it, or let somebody trusted to own sign it.
func (t *Trust) owned(f *Fold, scope string) bool {
	return t.Allows(f.Charter.Owner, MayOwn, scope) && (f.Begun.IsZero() || t.Allows(f.Begun, MayOwn, scope))
}

// admitted reports whether somebody trusted to own the agent vouched for its charter.
func (t *Trust) admitted(f *Fold, scope string) bool {
	return slices.ContainsFunc(f.Admitted, func(k Key) bool { return t.Allows(k, MayOwn, scope) })
}

// Joins refuses (key.trusted) entries that are about to join an agent that counts here, if it would not count with them. An agent that does
// not count itself may get more of the same: nothing is done for it. Had is its memory, and has tells which entries are in it.
func (t *Trust) Joins(here *Agent, had, more iter.Seq2[*Entry, error], has func(Hash) bool) error {
	if t.Counts(here) != nil {
		return nil
	}
	fresh := func(yield func(*Entry, error) bool) {
		for e, err := range more {
			if (err != nil || !has(e.Name)) && !yield(e, err) {
				return
			}
		}
	}
	a, err := here.applyAll(fresh)
	if err == ErrBehind { // some belong before what somebody vouched for: then all is judged from the beginning
		a, err = t.Fold(func(yield func(*Entry, error) bool) {
			for _, part := range []iter.Seq2[*Entry, error]{had, fresh} {
				for e, err := range part {
					if !yield(e, err) {
						return
					}
				}
			}
		})
	}
	if err != nil {
		return err
	}
	return t.Counts(a)
}

// applyAll is Apply for more entries than are held at once. Parents come before children.
func (a *Agent) applyAll(entries iter.Seq2[*Entry, error]) (*Agent, error) {
	var batch []*Entry
	size := 0
	flush := func() (err error) {
		a, err = a.Apply(batch...)
		batch, size = nil, 0
		return err
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if batch, size = append(batch, e), size+len(e.header)+len(e.body); size >= loadBytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return a.whole()
}

// The words for people that a policy can ask without naming them.
const (
	AskedOwner    = "owner"    // whoever is trusted here to own the agent; the approvers of its charter, if that names any
	AskedOperator = "operator" // whoever is trusted here to own the agent
)

// MayAnswer reports whether a key's answer to a question counts here: it is one of those asked, by the words for the owner and the operator, or
// by a name in the trust file that may approve in the agent's scope. A question to nobody in particular goes to the approvers of the
// charter, and without any to whoever may approve. A charter has a say only if it is that of an owner trusted here: to admit a stranger's
// agent is not to let the stranger approve what it does.
func (t *Trust) MayAnswer(f *Fold, q *Asking, k Key) bool {
	if t.revoked(k) || slices.Contains(f.Revoked, k) {
		return false
	}
	scope := f.Charter.Scope
	byCharter := len(f.Charter.Approvers) > 0 && t.owned(f, scope)
	owns := func() bool {
		if byCharter {
			return slices.Contains(f.Charter.Approvers, k)
		}
		return t.Allows(k, MayOwn, scope)
	}
	asked := q.Asked()
	if len(asked) == 0 {
		return owns() || !byCharter && t.Allows(k, MayApprove, scope)
	}
	return slices.ContainsFunc(asked, func(who string) bool {
		switch who {
		case AskedOwner:
			return owns()
		case AskedOperator:
			return t.Allows(k, MayOwn, scope)
		}
		return t.Allows(k, MayApprove, scope) && t.named(who, k, scope)
	})
}

// Tally counts the answers to a question that count here at a time: how many approve, and whether one refuses.
func (t *Trust) Tally(f *Fold, q *Asking, now time.Time) (approve int, refused bool) {
	q = q.by(TimeOf(now))
	yes, no := q.count(TimeOf(now), func(v *Vote) bool { return t.MayAnswer(f, q, v.Origin) }, func(k Key) Key { return t.person(f, q, k) })
	return len(yes), no
}

// person tells the people behind keys apart, who may have several: of all keys of one person it names the same. Keys that the trust file calls
// by one name are one person's, and so are those of the agent's owner, present and former, unless a question asks for one of them by name.
func (t *Trust) person(f *Fold, q *Asking, k Key) Key {
	asked, owners := q.Asked(), append(slices.Clone(f.Former), f.Charter.Owner)
	owners = slices.DeleteFunc(owners, func(k Key) bool {
		return slices.ContainsFunc(asked, func(who string) bool { return t.named(who, k, f.Charter.Scope) })
	})
	keys := []Key{k}
	add := func(k Key) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for i := 0; i < len(keys); i++ {
		for _, l := range t.lines {
			if l.Key == keys[i] && l.Name != "" {
				t.called(l.Name, add)
			}
		}
		if slices.Contains(owners, keys[i]) {
			for _, o := range owners {
				add(o)
			}
		}
	}
	return slices.MinFunc(keys, func(a, b Key) int { return Hash(a).Compare(Hash(b)) })
}

// called gives the keys that lines call so, taken back or not.
func (t *Trust) called(name string, to func(Key)) {
	for _, l := range t.lines {
		if l.Name == name {
			to(l.Key)
		}
	}
}

// named reports whether a line that gives k the right to approve in a scope calls it so.
func (t *Trust) named(name string, k Key, scope string) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool {
		return l.Key == k && !l.Revoked && l.Name == name && l.Rights.has(MayApprove) && (l.Scope == AnyScope || InScope(scope, l.Scope))
	})
}

// authored is a right that writing an entry took, where it was used first, and those used before it: a list that is only added to, so that
// agents can share it.
type authored struct {
	key    Key // zero: one of more authors than are told apart
	right  Right
	scope  string // in force there
	entry  Hash
	vouch  bool  // the entry stands on top of everything before it, and vouches for that if its author may
	count  int64 // entries there are with it
	before *authored
	n      int // how long the list is
}

// wrote is the authors of an agent and what writing e took, which is about to be folded and is the last of the window.
func (a *Agent) wrote(e *Entry) *authored {
	authors, f := a.authors, a.fold
	scope := f.Charter.Scope
	switch e.Kind {
	case KindGenesis:
		if g, ok := e.content.(Genesis); ok {
			scope = g.Charter.Scope
			authors = used(authors, e.Name, g.Charter.Owner, MayOwn, scope)
		}
	case KindSnapshot:
		if e.content != nil {
			return a.vouchedBy(authored{key: e.Origin, right: MayAuthor, scope: scope, entry: e.Name, count: f.Count + 1}, e)
		}
	case KindEvent:
		ev, _ := e.content.(Event)
		switch n := ev.Notice.(type) {
		case KeyChange:
			if e.Origin == f.Charter.Owner && !n.Owner.IsZero() {
				authors = used(authors, e.Name, n.Owner, MayOwn, scope)
			}
		case Admitted:
			return a.vouchedBy(authored{key: e.Origin, right: MayOwn, scope: scope, entry: e.Name, count: f.Count + 1}, e)
		}
	case KindAdvice, KindDecision, KindOutcome:
	}
	return used(authors, e.Name, e.Origin, rightFor(e), scope)
}

// vouchedBy is the authors of an agent and an entry that vouches for everything in its past. What was written beside it, unseen by its author, is
// judged by itself. Where that cannot be told from the entries at hand, it vouches for nothing.
func (a *Agent) vouchedBy(by authored, e *Entry) *authored {
	if a.fold.onTop(e) {
		return vouched(a.authors, by)
	}
	past := map[Hash]bool{}
	for _, p := range e.Parents {
		past[p] = true
	}
	w := a.window()
	var beside []*Entry
	for _, l := range slices.Backward(w.links) {
		switch {
		case l.Entry == e:
		case !past[l.Name]:
			beside = append(beside, l.Entry)
		default:
			for _, p := range l.Parents {
				past[p] = true
			}
		}
	}
	if w.base != nil && slices.ContainsFunc(w.base.Heads, func(h Head) bool { return !past[h.Name] }) {
		return used(a.authors, by.entry, by.key, by.right, by.scope)
	}
	authors := vouched(a.authors, by)
	for _, b := range slices.Backward(beside) {
		authors = used(authors, b.Name, b.Origin, rightFor(b), by.scope)
	}
	return authors
}

// used is authors and one use of a right. A use before the last entry that vouches is not this one: that entry may make it count.
func used(authors *authored, e Hash, k Key, right Right, scope string) *authored {
	for w := authors; w != nil; w = w.before {
		if w.key == k && w.right == right && (w.scope == scope || InScope(scope, w.scope)) {
			return authors
		}
		if w.vouch {
			break
		}
	}
	return pushAuthor(authors, authored{key: k, right: right, scope: scope, entry: e})
}

// vouched is authors and an entry that vouches for them. Of entries that vouch only the last of each author is kept, so the list does not grow
// with the memory.
func vouched(authors *authored, by authored) *authored {
	var all []*authored
	for w := authors; w != nil; w = w.before {
		all = append(all, w)
	}
	var kept *authored
	for _, w := range slices.Backward(all) {
		switch {
		case w.vouch && w.key == by.key:
			kept = used(kept, w.entry, w.key, w.right, w.scope)
		case w.vouch:
			kept = pushAuthor(kept, *w)
		default:
			kept = used(kept, w.entry, w.key, w.right, w.scope)
		}
	}
	by.vouch = true
	return pushAuthor(kept, by)
}

// pushAuthor is authors and one more. Of too many, nobody can tell who they are.
func pushAuthor(authors *authored, w authored) *authored {
	w.before, w.n = authors, 1
	if authors != nil {
		w.n = authors.n + 1
	}
	switch {
	case w.n > maxAuthors+1:
		return authors
	case w.n > maxAuthors:
		w.key, w.vouch = Key{}, false
	}
	return &w
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
	switch n := ev.Notice.(type) {
	case SeatTaken:
		if n.Lost {
			return MayOwn
		}
	case SeatGiven:
		if n.Owned {
			return MayOwn
		}
	case Approval, Resume: // to let an agent go on is a person's word
		return MayApprove
	case KeyChange, Admitted:
		return MayOwn
	case nil, ChildEnded, Pause, Grant, Settle, Cancel, Doubt, Edit, Pruned, Erased, Escalated, Enclosed, Joined, Doubled, Lacks:
	}
	return MayAuthor
}

func untrusted(w *authored) *Rejection {
	want := w.right.String()
	if want == "" {
		want = "any right"
	}
	r := reject(predTrusted, nil, "$.header.origin", w.key.Short()+", who is not trusted with it", want+" in scope "+w.scope, "")
	r.Entry = w.entry.String()
	if w.key.IsZero() {
		r.Got, r.Hint = fmt.Sprint("more than ", maxAuthors, " authors"), "nobody can tell them apart: fork it from before"
		return r
	}
	if w.right == 0 {
		want = MayAuthor.String()
	}
	scope := w.scope
	if scope == AnyScope {
		scope = "'*'" // as a shell takes it
	}
	r.Hint = fmt.Sprintf("if you trust this key: perdure key trust %s --rights %s --scope %s", w.key, want, scope)
	return r
}
