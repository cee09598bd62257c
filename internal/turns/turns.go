// Package turns lets one at a time work on an agent.
package turns

import (
	"context"
	"slices"
	"sync"
)

// Turns are those of any number of things. The zero Turns is ready.
type Turns[K comparable] struct {
	mu      sync.Mutex
	waiting map[K][]chan struct{} // for each thing that somebody has: who comes next, in order
}

// Take waits for a turn; what it returns ends it. Where nobody else has it, the context is not looked at.
func (t *Turns[K]) Take(ctx context.Context, of K) (func(), error) {
	t.mu.Lock()
	line, taken := t.waiting[of]
	if !taken {
		if t.waiting == nil {
			t.waiting = map[K][]chan struct{}{}
		}
		t.waiting[of] = nil
		t.mu.Unlock()
		return func() { t.end(of) }, nil
	}
	mine := make(chan struct{})
	t.waiting[of] = append(line, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return func() { t.end(of) }, nil
	case <-ctx.Done():
		t.leave(of, mine)
		return nil, ctx.Err()
	}
}

// end gives a turn to who comes next.
func (t *Turns[K]) end(of K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.waiting[of]
	if len(line) == 0 {
		delete(t.waiting, of)
		return
	}
	close(line[0])
	t.waiting[of] = line[1:]
}

// leave takes one out of the line that no longer waits, and ends its turn if that has just begun.
func (t *Turns[K]) leave(of K, mine chan struct{}) {
	t.mu.Lock()
	at := slices.Index(t.waiting[of], mine)
	if at >= 0 {
		t.waiting[of] = slices.Delete(t.waiting[of], at, at+1)
	}
	t.mu.Unlock()
	if at < 0 {
		t.end(of)
	}
}
