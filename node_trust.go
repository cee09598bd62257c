package perdure

import (
	"time"
)

// trusting is whom a node was told to trust, and these with its own key.
type trusting struct{ told, all *Trust }

// withKey is whom this node trusts: itself, and whom it was told to.
func (n *Node) withKey(t *Trust) *trusting {
	others := t
	if others == nil {
		others = new(Trust)
	}
	own := Trustee{Key: n.Key.Key(), Name: n.Key.Name, Rights: MayOwn, Scope: AnyScope}
	return &trusting{told: t, all: others.With(own)}
}

// trust is whom this node trusts now. A node without a key trusts nobody.
func (n *Node) trust() *Trust {
	if n.init() != nil {
		return new(Trust)
	}
	was := n.trusted.Load()
	if n.TrustNow != nil {
		if now := n.TrustNow(); now != nil && now != was.told {
			return n.setTrust(now).all
		}
	}
	return was.all
}

// Trusted is whose entries count for this node, now: those TrustNow names, or SetTrust or Trust did, and its own key.
func (n *Node) Trusted() *Trust { return n.trust() }

// SetTrust changes whose entries count, also while the node runs: from its next look at an agent on.
func (n *Node) SetTrust(t *Trust) {
	if n.init() != nil {
		return
	}
	n.setTrust(t)
}

func (n *Node) setTrust(t *Trust) *trusting {
	now := n.withKey(t)
	n.trusted.Store(now)
	n.wakeAll() // what was held may count now
	return now
}

// Lacking is how many more people must approve what a question asks about, by whom this node trusts, and whether
// somebody has refused it.
func (n *Node) Lacking(f *Fold, q *Asking, now time.Time) (people int64, refused bool) {
	s := n.trust().Tally(f, q, now)
	return s.Lacks, s.Refused
}
