package perdure

import (
	"cmp"
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
// it is that of an owner trusted here: to admit a stranger's agent is not to let the stranger approve what it does. An
// answer that memory does not take counts for nothing either: see asksHere.
func (t *Trust) MayAnswer(f *Fold, q *Asking, k Key) bool {
	if t.revoked(k) || slices.Contains(f.Revoked, k) || !f.hears(q, k) {
		return false
	}
	scope := f.Charter.Scope
	byCharter := t.byCharter(f)
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

// asksHere is a verdict that asks people of this home, for an agent whose charter names approvers and has no say here:
// see askedHere.
func (t *Trust) asksHere(f *Fold, v Verdict) Verdict {
	if v.Answer != Ask || len(f.Charter.Approvers) == 0 || t.owned(f, f.Charter.Scope) {
		return v
	}
	var approve []string
	for _, l := range t.lines {
		if l.Name != "" && t.named(l.Name, l.Key, f.Charter.Scope) {
			approve = append(approve, l.Name)
		}
	}
	v.Asked, v.Escalate = askedHere(v.Asked, approve), slices.Clone(v.Escalate)
	for i := range v.Escalate {
		v.Escalate[i].Asked = askedHere(v.Escalate[i].Asked, approve)
	}
	return v
}

// askedHere is whom a node asks what policy asks of these people, where the approvers of a charter have no say: memory
// would take nobody else's answer for that of the owner. Whoever may own the agent here answers in their place; a
// question to nobody in particular goes to those who may approve, too.
func askedHere(asked, approve []string) []string {
	if len(asked) == 0 {
		asked = append([]string{askedOwner}, approve...)
	}
	if asked = slices.Clone(asked); slices.Contains(asked, askedOwner) {
		asked[slices.Index(asked, askedOwner)] = askedOperator
		slices.Sort(asked)
	}
	return slices.Compact(asked)
}

// AskedAs reports whether a node that asks these people, as is recorded, did so where policy asks those: they are the
// same, or the charter of the agent names approvers and need have had no say there. It had none if its owner is not
// trusted, or was not when somebody trusted here admitted the agent. Who else could approve there is in no memory.
// Without a Trust nobody can tell, and it is taken that they had no say.
func (t *Trust) AskedAs(f *Fold, recorded, policy []string) bool {
	if slices.Equal(recorded, policy) {
		return true
	}
	scope := f.Charter.Scope
	if len(f.Charter.Approvers) == 0 || t != nil && t.owned(f, scope) && !t.admitted(f, scope) {
		return false
	}
	return slices.Equal(recorded, askedHere(policy, recorded))
}

// MayAnswerAway is MayAnswer for an agent that does not count here: its answer counts where the agent runs, if
// anywhere. Whoever this home trusts to own agents is nobody there, so a question to the owner is for the key of the
// charter's owner, or for the approvers the charter names.
func (t *Trust) MayAnswerAway(f *Fold, q *Asking, k Key) bool {
	if !t.MayAnswer(f, q, k) {
		return false
	}
	asked := q.Asked()
	if len(asked) == 0 && len(f.Charter.Approvers) == 0 || slices.ContainsFunc(asked, func(who string) bool {
		return who != askedOwner && who != askedOperator && t.named(who, k, f.Charter.Scope)
	}) {
		return true
	}
	return k == f.Charter.Owner && !f.byApprovers(asked) || slices.Contains(f.Charter.Approvers, k)
}

// byApprovers reports whether approvers of the charter answer what only the owner is asked.
func (f *Fold) byApprovers(asked []string) bool {
	return len(f.Charter.Approvers) > 0 && !slices.Contains(asked, askedOperator)
}

// Asked is whom a question goes to by now, as policy calls them. Where the approvers of a charter stand in the owner's
// place, these are named: by the trust file, else by their key.
func (t *Trust) Asked(f *Fold, q *Asking) []string {
	asked := q.Asked()
	if t == nil || !t.byCharter(f) {
		return asked
	}
	i := slices.Index(asked, askedOwner)
	if i < 0 && len(asked) > 0 {
		return asked
	}
	var names []string
	for _, k := range f.Charter.Approvers {
		if name := cmp.Or(t.name(k), k.Short()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if i < 0 {
		return names
	}
	return slices.Replace(asked, i, i+1, names...)
}

// byCharter reports whether a charter that has a say here names who answers in the owner's place.
func (t *Trust) byCharter(f *Fold) bool {
	return len(f.Charter.Approvers) > 0 && t.owned(f, f.Charter.Scope)
}

// Answerers says in words whose answer to a question counts here: whom it is asked of, and their keys, by name where
// the trust file has one. Of an agent whose owner is not trusted here it says whose counts where it runs.
func (t *Trust) Answerers(f *Fold, q *Asking) string {
	var names []string
	if t.Elsewhere(f, q) {
		for _, k := range f.Charter.Approvers {
			names = append(names, cmp.Or(t.name(k), k.Short()))
		}
		return f.whom(q) + " (" + strings.Join(names, ", ") + ")"
	}
	add := func(k Key, name string) {
		if !slices.Contains(names, name) && t.MayAnswer(f, q, k) {
			names = append(names, name)
		}
	}
	for _, l := range t.lines {
		add(l.Key, cmp.Or(l.Name, t.name(l.Key), l.Key.Short()))
	}
	whom, asked := f.whom(q), q.Asked()
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(asked, name) })
	if len(names) == 0 {
		return whom
	}
	return whom + " (" + strings.Join(names, ", ") + ")"
}

// Elsewhere reports whether a question goes to the approvers of a charter that has no say here: whose answer counts is
// decided where the agent runs.
func (t *Trust) Elsewhere(f *Fold, q *Asking) bool {
	asked := q.Asked()
	return f.byApprovers(asked) && !t.byCharter(f) && (len(asked) == 0 || slices.Contains(asked, askedOwner))
}

// Approved is how many people have approved, as Tally counts them; for an agent whose owner is not trusted here, how
// many of the approvers that its charter names.
func (t *Trust) Approved(f *Fold, q *Asking, now time.Time) int {
	s := t.Tally(f, q, now)
	if t.Elsewhere(f, q) {
		named := func(v *Vote) bool { return slices.Contains(f.Charter.Approvers, v.Origin) }
		s = q.by(TimeOf(now)).tally(TimeOf(now), named, func(k Key) Key { return k })
	}
	return int(max(q.Verdict.Quorum, 1) - s.Lacks)
}

// Answerable is how many people there are whose answer to a question would count here. More may be trusted later.
func (t *Trust) Answerable(f *Fold, q *Asking) int64 {
	var people []Key
	keys := append(slices.Clone(f.Charter.Approvers), f.Charter.Owner)
	for _, l := range t.lines {
		keys = append(keys, l.Key)
	}
	for _, k := range keys {
		if p := t.person(f, q, k); t.MayAnswer(f, q, k) && !slices.Contains(people, p) {
			people = append(people, p)
		}
	}
	return int64(len(people))
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
