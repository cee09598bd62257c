package perdure

import (
	"slices"
	"strings"
	"time"
)

// The words for people that a policy can ask without naming them.
const (
	// whoever is trusted here to own the agent; the approvers of its charter, if that names any
	askedOwner    = "owner"
	askedOperator = "operator" // whoever is trusted here to own the agent
)

// MayAnswer reports whether a key's answer to a question counts here: it is one of those asked, by the words for the
// owner and the operator, or by a name in the trust file that may approve in the agent's scope. A question to nobody in
// particular goes to the approvers of the charter, and without any to whoever may approve. A charter has a say only if
// it is that of an owner trusted here: to admit a stranger's agent is not to let the stranger approve what it does.
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
		case askedOwner:
			return owns()
		case askedOperator:
			return t.Allows(k, MayOwn, scope)
		}
		return t.Allows(k, MayApprove, scope) && t.named(who, k, scope)
	})
}

// Answerers says in words whose answer to a question counts here: whom it is asked of, and the names of their keys, as
// far as the trust file has them.
func (t *Trust) Answerers(f *Fold, q *Asking) string {
	var names []string
	add := func(k Key, name string) {
		if name != "" && !slices.Contains(names, name) && t.MayAnswer(f, q, k) {
			names = append(names, name)
		}
	}
	for _, l := range t.lines {
		add(l.Key, l.Name)
	}
	whom, asked := f.Whom(q), q.Asked()
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(asked, name) })
	if len(names) == 0 {
		return whom
	}
	return whom + " (" + strings.Join(names, ", ") + ")"
}

// Tally counts the answers to a question that count here at a time: how many approve, and whether one refuses.
func (t *Trust) Tally(f *Fold, q *Asking, now time.Time) (approve int, refused bool) {
	q = q.by(TimeOf(now))
	yes, no := q.count(TimeOf(now), func(v *Vote) bool {
		return t.MayAnswer(f, q, v.Origin)
	}, func(k Key) Key { return t.person(f, q, k) })
	return len(yes), no
}

// person tells the people behind keys apart, who may have several: of all keys of one person it names the same. Keys
// that the trust file calls by one name are one person's, and so are those of the agent's owner, present and former,
// unless a question asks for one of them by name.
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
		return l.Key == k && !l.Revoked && l.Name == name && l.Rights.has(MayApprove) &&
			(l.Scope == AnyScope || InScope(scope, l.Scope))
	})
}
