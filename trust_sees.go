package perdure

// Sees is a request about an agent with what is known of it here, for policy. The fold is the same everywhere; whom to
// believe is not. In an agent that nobody trusted here answers for, the text is a stranger's, whoever admitted it and
// whatever the entries say of themselves. And where its charter names an owner who did not sign it, and neither did
// somebody who may own it, policy is told the key that did.
func (t *Trust) Sees(a *Agent, r Request) Request {
	f := a.fold
	r.Tainted = r.Tainted || !t.ours(a)
	if !f.Begun.IsZero() && !t.Allows(f.Begun, MayOwn, f.Charter.Scope) {
		r.Owner = f.Begun
	}
	return r
}

// ours reports whether somebody trusted here answers for an agent: its charter is that of an owner who is, or somebody
// trusted to begin children did so in that owner's name.
func (t *Trust) ours(a *Agent) bool {
	f := a.fold
	return t.owned(f, f.Charter.Scope) || t.Allows(f.Charter.Owner, MayOwn, f.Charter.Scope) &&
		t.Allows(f.Begun, MayBegin, f.Charter.Scope)
}

// tainted reports whether text from somebody not trusted may speak in an agent, as far as this node knows.
func (n *Node) tainted(a *Agent) bool { return !a.fold.Taint.IsZero() || !n.trust().ours(a) }
