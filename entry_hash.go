package perdure

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Hash is a SHA-256 digest: the name of an entry, of a body, a policy set or a schema.
type Hash [32]byte

// AgentID is the name of an agent's genesis entry. It never changes.
type AgentID Hash

// HashOf returns the SHA-256 of b.
func HashOf(b []byte) Hash { return sha256.Sum256(b) }

func (h Hash) String() string     { return hex.EncodeToString(h[:]) }
func (id AgentID) String() string { return hex.EncodeToString(id[:]) }

// Short is the first 12 hex digits, for people.
func (h Hash) Short() string { return hex.EncodeToString(h[:6]) }

// Short is the first 12 hex digits, for people.
func (id AgentID) Short() string { return hex.EncodeToString(id[:6]) }

// IsZero reports whether h names nothing.
func (h Hash) IsZero() bool { return h == Hash{} }

// IsZero reports whether id names no agent.
func (id AgentID) IsZero() bool { return id == AgentID{} }

// Compare orders hashes by their bytes.
func (h Hash) Compare(o Hash) int { return bytes.Compare(h[:], o[:]) }

// MarshalText writes the hash as 64 hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 hex digits.
func (h *Hash) UnmarshalText(b []byte) error {
	v, err := ParseHash(string(b))
	if err == nil {
		*h = v
	}
	return err
}

// MarshalText writes the id as 64 hex digits.
func (id AgentID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads 64 hex digits.
func (id *AgentID) UnmarshalText(b []byte) error { return (*Hash)(id).UnmarshalText(b) }

// ParseHash reads 64 hex digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return h, fmt.Errorf("hash %.70q: want %d hex digits, got %d characters", s, 2*len(h), len(s))
	}
	if _, err := hex.Decode(h[:], []byte(strings.ToLower(s))); err != nil {
		return Hash{}, fmt.Errorf("hash %.70q: %w", s, err)
	}
	return h, nil
}

// Position is where an entry stands in the fold order: by seq, ties by name. Sequence numbers grow along every link, so
// the order is topological, and no clock takes part in it.
type Position struct {
	Seq  int64
	Name Hash
}

// Compare orders positions.
func (p Position) Compare(o Position) int {
	if c := cmp.Compare(p.Seq, o.Seq); c != 0 {
		return c
	}
	return p.Name.Compare(o.Name)
}
