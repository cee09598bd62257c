package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Pick is the one of several hashes that a prefix means; an empty prefix means the only one.
func Pick(of []perdure.Hash, prefix, what string, a *perdure.Agent) (perdure.Hash, error) {
	prefix = strings.ToLower(prefix)
	agent := Called(a)
	if prefix != "" && (len(prefix) < MinPrefix || !IsHex(prefix)) {
		return perdure.Hash{}, perdure.Invalid(fmt.Errorf("%q: want 4 or more hex digits, as perdure inbox shows them "+
			"of the %s", prefix, what))
	}
	var found []perdure.Hash
	var names []string
	for _, h := range of {
		if strings.HasPrefix(h.String(), prefix) {
			found, names = append(found, h), append(names, h.Short())
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return perdure.Hash{}, perdure.Invalid(fmt.Errorf("%s has several: %s; say which", agent,
			strings.Join(names, ", ")))
	case len(of) == 0:
		return perdure.Hash{}, perdure.WithHint(perdure.Missing(fmt.Sprintf("%s has no %s", agent, what)),
			"see perdure show "+Callable(a))
	}
	return perdure.Hash{}, perdure.WithHint(perdure.Missing(fmt.Sprintf("%s has no %s that begins with %s", agent, what,
		prefix)),
		"see perdure inbox")
}

// maxAsked is how much of a question an error repeats, in columns.
const maxAsked = 60

// Asked is the digest that the beginning of one means, of what policy asks a person about; empty means the only one. A
// whole digest stands for itself, and where nothing that is open is meant, what was answered last is: whoever answers
// that is told who did before.
func Asked(a *perdure.Agent, prefix string) (perdure.Hash, error) {
	if whole, err := perdure.ParseHash(prefix); err == nil {
		return whole, nil
	}
	var asks []perdure.Hash
	for _, q := range a.Fold().Asks {
		asks = append(asks, q.Digest)
	}
	if q, ok := a.Fold().Question(time.Now()); ok && len(asks) == 0 {
		return perdure.Hash{}, perdure.WithHint(perdure.Missing(fmt.Sprintf("%s asks a question: %s",
			Called(a), Cut(InLine(q.Text), maxAsked))), "answer it: perdure answer "+Callable(a)+" TEXT")
	}
	d, err := Pick(asks, prefix, "open question", a)
	if !errors.Is(err, perdure.ErrNotFound) {
		return d, err
	}
	for e := range a.Counting() {
		ev, _ := e.Content().(perdure.Event)
		if v, ok := ev.Notice.(perdure.Approval); ok && strings.HasPrefix(v.Digest.String(), strings.ToLower(prefix)) {
			return v.Digest, nil
		}
	}
	if a.Fold().Ended != nil {
		return d, fmt.Errorf("%s: %w", Called(a), perdure.ErrTerminated)
	}
	return d, err
}

// Unsettled is the decision that the beginning of its hash means, of those whose effect may be in doubt: open ones, and
// those that two copies made. What it waits for is nil if the decision is not open.
func Unsettled(a *perdure.Agent, prefix string) (perdure.Hash, *Wait, error) {
	f := a.Fold()
	var open []perdure.Hash
	effects := slices.Concat(f.Open, f.Hearsay())
	for _, o := range effects {
		open = append(open, o.Decision)
	}
	for _, o := range f.Doubles() {
		if !slices.Contains(open, o.Second) {
			open = append(open, o.Second)
		}
	}
	d, err := Pick(open, prefix, "open decision", a)
	if err != nil {
		return d, nil, err
	}
	if i := slices.Index(open, d); i < len(effects) {
		return d, new(doubtOf(a, &effects[i])), nil
	}
	return d, nil, nil
}
