package tool

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/perdure/perdure"
)

// Guard refuses what holds the value of a secret, so that none enters a memory by any way: advice, an event, an agent's
// inputs, a result. It knows a value as it is, and as it is written in JSON, a URL, HTML, base64, also as a part of a
// longer text in base64, hexadecimal and the dumps of xxd and hexdump -C; those that are hard to guess also in other
// case, with line breaks, line numbers, colours or other signs in between, escaped more than once, in UTF-16, as a list
// of numbers, drawn in other letters, and spread over several texts or names of fields that follow each other. What is
// no more than a few words is not looked for in that way: it would be found in ordinary text.
type Guard struct {
	exact, plain *matcher
}

var _ perdure.Guard = (*Guard)(nil)

// NewGuard is a guard for the secrets as they are now. Values shorter than 6 bytes would be found everywhere: they are
// left out, which is logged.
func NewGuard(ctx context.Context, secrets KnownSecrets, log *slog.Logger) (*Guard, error) {
	all, err := secrets.Secrets(ctx)
	if err != nil {
		return nil, fmt.Errorf("guard the secrets of this node: %w", err)
	}
	var values []spelling
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := all[name]; len(value) >= minGuarded {
			values = append(values, spelling{value, name})
		} else if log != nil {
			log.Warn("the secret is too short to be kept out of memory: use a longer one", "secret", name, "bytes",
				len(value), "least", minGuarded)
		}
	}
	exact, plain := spellingsOf(values, minGuarded)
	return &Guard{newMatcher(exact), newMatcher(plain)}, nil
}

// room is what a check needs.
type room struct {
	normal
	spread, names []byte
}

// rooms are for reuse: bodies are checked at every step.
var rooms = sync.Pool{New: func() any { return new(room) }}

// likely is a spelling that is in a text by its normal form.
func (g *Guard) likely(n *normal, text []byte) *spelling {
	n.read(text, false)
	s := g.plain.any(n.text)
	if s == nil && n.readDump(text, false) {
		s = g.plain.any(n.text)
	}
	return s
}

// unlikely is a spelling that is in a text as people see it, or in the numbers of its bytes.
func (g *Guard) unlikely(n *normal, text []byte) (s *spelling) {
	loose, numbers := peculiar(text)
	if loose {
		n.readLoose(text, false)
		s = g.plain.any(n.text)
	}
	if s == nil && numbers && n.readNumbers(text, false) {
		s = g.plain.any(n.text)
	}
	return s
}

// apart is a spelling in the values of a body, or in the names of its fields, each on a line of its own. Bytes that are
// no value are one text.
func (g *Guard) apart(r *room, body []byte) (s *spelling) {
	lines := 0
	if r.spread, r.names, lines = spreadBytes(r.spread[:0], r.names[:0], body); lines < 0 {
		return g.unlikely(&r.normal, body)
	}
	if lines > 1 {
		s = g.likely(&r.normal, r.spread)
	}
	if s == nil {
		s = g.unlikely(&r.normal, r.spread)
	}
	if s == nil && len(r.names) >= minNormal {
		if s = g.likely(&r.normal, r.names); s == nil {
			s = g.unlikely(&r.normal, r.names)
		}
	}
	return s
}

// Check implements perdure.Guard. It names the secret, never its value.
func (g *Guard) Check(body []byte) error {
	s := g.exact.any(body)
	if s == nil && len(g.plain.by) > 0 {
		r := rooms.Get().(*room)
		if s = g.likely(&r.normal, body); s == nil {
			s = g.apart(r, body)
		}
		rooms.Put(r)
	}
	if s == nil {
		return nil
	}
	return fmt.Errorf("it holds the value of secret %s, which must never be in a memory: refer to it as %s%s", s.name,
		reference, s.name)
}
