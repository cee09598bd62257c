package tool

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/perdure/perdure"
)

// Guard refuses what holds the value of a secret, so that none enters a memory by any way: advice, an event, an agent's inputs, a result. It knows a
// value as it is, and as it is written in JSON, a URL, base64, also as a part of a longer text in base64, and hexadecimal.
type Guard struct {
	first [1 << 16 / 64]uint64    // a bit for each hash of the first bytes of a spelling
	by    map[uint32][]guardValue // by the first bytes
}

var _ perdure.Guard = (*Guard)(nil)

// guardValue is one spelling of a secret.
type guardValue struct {
	spelling []byte
	name     string
}

// NewGuard is a guard for the secrets as they are now. Values shorter than 6 bytes would be found everywhere: they are left out, which is logged.
func NewGuard(ctx context.Context, secrets KnownSecrets, log *slog.Logger) (*Guard, error) {
	all, err := secrets.Secrets(ctx)
	if err != nil {
		return nil, fmt.Errorf("guard the secrets of this node: %w", err)
	}
	g := &Guard{by: map[uint32][]guardValue{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		if len(value) < minGuarded {
			if log != nil {
				log.Warn("the secret is too short to be kept out of memory: use a longer one", "secret", name, "bytes", len(value), "least", minGuarded)
			}
			continue
		}
		for _, s := range spellings(value) {
			if len(s) >= minGuarded {
				g.add([]byte(s), name)
			}
		}
	}
	return g, nil
}

func (g *Guard) add(spelling []byte, name string) {
	w := binary.LittleEndian.Uint32(spelling)
	h := guardHash(w)
	g.first[h/64] |= 1 << (h % 64)
	g.by[w] = append(g.by[w], guardValue{spelling, name})
}

// guardHash spreads the first bytes of a spelling over the bits.
func guardHash(w uint32) uint32 { return w * 0x9E3779B1 >> 16 }

// Check implements perdure.Guard. It names the secret, never its value.
func (g *Guard) Check(body []byte) error {
	if len(g.by) == 0 {
		return nil
	}
	for i := 0; i+4 <= len(body); i++ {
		w := binary.LittleEndian.Uint32(body[i:])
		if h := guardHash(w); g.first[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, v := range g.by[w] {
			if bytes.HasPrefix(body[i:], v.spelling) {
				return fmt.Errorf("it holds the value of secret %s, which must never be in a memory: refer to it as %s%s", v.name, reference, v.name)
			}
		}
	}
	return nil
}
