package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/home"
)

// giveWay is how long a sender may be waited for before another transfer of the same agent, by the same sender, takes
// its place: one that vanished without closing its connection is noticed much later.
const giveWay = time.Second

// arrivals are the transfers under way, by agent and sender.
type arrivals struct {
	mu    sync.Mutex
	under map[string]*stalling
}

// begin waits a little for earlier transfers under the same name, of which each gives way if it is silent. The caller
// calls end.
func (a *arrivals) begin(ctx context.Context, name string, s *stalling) (end func()) {
	s.done = make(chan struct{})
	for busy := 0; busy < 3 && ctx.Err() == nil; { // one that is given up ends; then there is room
		old := a.enter(name, s)
		if old == nil {
			break
		}
		select {
		case <-old.done:
		case <-ctx.Done():
		case <-time.After(giveWay):
			a.mu.Lock()
			if a.under[name] == old && !old.giveUp() { // it has not ended meanwhile
				busy++
			}
			a.mu.Unlock()
		}
	}
	return func() { a.end(name, s) }
}

// end forgets a transfer.
func (a *arrivals) end(name string, s *stalling) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.under[name] == s {
		delete(a.under, name)
	}
	close(s.done)
}

// enter notes a transfer, unless there is one under its name, which it returns.
func (a *arrivals) enter(name string, s *stalling) *stalling {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.under[name]; old != nil {
		return old
	}
	if a.under == nil {
		a.under = map[string]*stalling{}
	}
	a.under[name] = s
	return nil
}

// errGivenUp ends a transfer in whose place another comes.
var errGivenUp = &home.Error{Kind: home.KindUnavailable,
	Err: errors.New("its sender was silent, and has begun another transfer of the agent")}

// giveUp ends a transfer whose sender is silent, and reports whether it did. It leaves a transfer alone whose sender
// has sent everything, or that this server is busy with.
func (s *stalling) giveUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.since.IsZero() || time.Since(s.since) < giveWay {
		return false
	}
	s.givenUp = true
	_ = s.until(time.Now()) // else the next read ends it
	return true
}
