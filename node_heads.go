package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

type movedErr struct{}

func (movedErr) Error() string {
	return "the agent has gone on since it was looked at; nothing was changed"
}
func (movedErr) Is(target error) bool { return target == ErrConflict }

type headsKey struct{}

// WithHeads is a context under which an agent is told something only while these are its heads: whoever looked at it
// and decided by what they saw is told ErrMoved if that is no longer so. Otherwise telling is never refused for what
// others wrote.
func WithHeads(ctx context.Context, heads []Hash) context.Context {
	return context.WithValue(ctx, headsKey{}, slices.Clone(heads))
}

// onHeads adds what was written on top of an agent, if it had these heads and still has them.
func (n *Node) onHeads(ctx context.Context, on *Agent, heads []Hash, entries []*Entry) error {
	if on == nil || !slices.Equal(on.Heads(), heads) {
		return ErrMoved
	}
	err := n.Store.Append(ctx, on.ID(), heads, entries...)
	if errors.Is(err, ErrConflict) {
		return fmt.Errorf("append to %s: %w", on.ID().Short(), ErrMoved)
	}
	return err
}
