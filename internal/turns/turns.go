// Package turns lets one at a time work on an agent.
package turns

import (
	"context"
	"sync"
)

// Turns are those of any number of things. The zero Turns is ready.
type Turns[K comparable] struct {
	mu    sync.Mutex
	taken map[K]*turn
}

// turn is one that somebody has or waits for.
type turn struct {
	held  chan struct{} // has a value while somebody has it
	users int
}

// Take waits for a turn; what it returns ends it.
func (t *Turns[K]) Take(ctx context.Context, of K) (func(), error) {
	t.mu.Lock()
	if t.taken == nil {
		t.taken = map[K]*turn{}
	}
	one := t.taken[of]
	if one == nil {
		one = &turn{held: make(chan struct{}, 1)}
		t.taken[of] = one
	}
	one.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.taken, of)
		}
	}
	select {
	case one.held <- struct{}{}:
		return func() { <-one.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
