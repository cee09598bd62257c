package capsule

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// Manifest is one capsule's part of a signature over many: the signature, and the path from this capsule's heads to the
// root of the Merkle tree that was signed (RFC 6962 §2.1). Who holds one capsule can check it without the others.
type Manifest struct {
	Key       perdure.Key    `canon:"1,key"`
	Time      perdure.Time   `canon:"2,time"`
	Count     int64          `canon:"3,count"` // how many capsules were signed together
	Index     int64          `canon:"4,index"` // which of them this is
	Path      []perdure.Hash `canon:"5,path,omitzero"`
	Signature [64]byte       `canon:"6,signature"`
}

// Member is an agent as a manifest knows it.
type Member struct {
	Agent perdure.AgentID
	Heads []perdure.Hash // ascending
}

// leaf commits to an agent and its heads.
func (m Member) leaf() perdure.Hash {
	h := sha256.New()
	h.Write([]byte{0})
	h.Write(m.Agent[:])
	for _, head := range m.Heads {
		h.Write(head[:])
	}
	return perdure.Hash(h.Sum(nil))
}

func parentOf(l, r perdure.Hash) perdure.Hash {
	return perdure.HashOf(slices.Concat([]byte{1}, l[:], r[:]))
}

// split is the largest power of two below n.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

func rootOf(leaves []perdure.Hash) perdure.Hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := split(len(leaves))
	return parentOf(rootOf(leaves[:k]), rootOf(leaves[k:]))
}

// pathOf is the siblings from a leaf up.
func pathOf(leaves []perdure.Hash, i int) []perdure.Hash {
	if len(leaves) == 1 {
		return nil
	}
	k := split(len(leaves))
	if i < k {
		return append(pathOf(leaves[:k], i), rootOf(leaves[k:]))
	}
	return append(pathOf(leaves[k:], i-k), rootOf(leaves[:k]))
}

// climb is the root that a leaf and its path lead to; false when the path does not fit the tree.
func climb(leaf perdure.Hash, path []perdure.Hash, i, n int64) (perdure.Hash, bool) {
	if n == 1 {
		return leaf, len(path) == 0 && i == 0
	}
	if len(path) == 0 || i < 0 || i >= n {
		return leaf, false
	}
	k := int64(1) << (bits.Len64(uint64(n-1)) - 1)
	sibling := path[len(path)-1]
	if i < k {
		l, ok := climb(leaf, path[:len(path)-1], i, k)
		return parentOf(l, sibling), ok
	}
	r, ok := climb(leaf, path[:len(path)-1], i-k, n-k)
	return parentOf(sibling, r), ok
}

// manifestDigest is what is signed. It begins with a word, so that it is never the name of an entry, which is the hash
// of a map.
func manifestDigest(root perdure.Hash, count int64, at perdure.Time) perdure.Hash {
	b := canon.AppendText(nil, "perdure manifest")
	b = canon.AppendBytes(b, root[:])
	return perdure.HashOf(canon.AppendInt(canon.AppendInt(b, count), int64(at)))
}

// signMembers signs the heads of many agents at once and returns the manifest of each, in the order given. No agent may
// be named twice.
func signMembers(s *perdure.Signer, now time.Time, members ...Member) ([]*Manifest, error) {
	if len(members) == 0 {
		return nil, fmt.Errorf("sign a manifest: no agents; name at least one")
	}
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(members[a].Agent[:], members[b].Agent[:]) })
	leaves := make([]perdure.Hash, len(members))
	for at, i := range order {
		if at > 0 && members[order[at-1]].Agent == members[i].Agent {
			return nil, fmt.Errorf("sign a manifest: agent %s is named twice", members[i].Agent.Short())
		}
		leaves[at] = members[i].leaf()
	}
	t := perdure.TimeOf(now)
	sig, err := s.Sign(manifestDigest(rootOf(leaves), int64(len(leaves)), t))
	if err != nil {
		return nil, fmt.Errorf("sign a manifest: %w", err)
	}
	out := make([]*Manifest, len(members))
	for at, i := range order {
		out[i] = &Manifest{Key: s.Key(), Time: t, Count: int64(len(leaves)), Index: int64(at), Path: pathOf(leaves, at),
			Signature: [64]byte(sig)}
	}
	return out, nil
}

// Check refuses a manifest that does not cover these heads of this agent.
func (m *Manifest) Check(of Member) error {
	root, fits := climb(of.leaf(), m.Path, m.Index, m.Count)
	if !fits || m.Count < 1 {
		return reject(PredManifest, 0, "$.manifest.path", "a path that does not fit", "the path of one capsule")
	}
	if m.Key.Verify(manifestDigest(root, m.Count, m.Time), m.Signature[:]) != nil {
		return reject(PredManifest, 0, "$.manifest.signature", "a signature that does not verify",
			"one by "+m.Key.Short()+" over these heads")
	}
	return nil
}
