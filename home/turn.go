package home

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

const (
	// turnPatience is how long a turn waits by itself for an advisor that has no time, until it is tried again.
	turnPatience = 2 * time.Minute
	// lookAgain is how often an agent that is at work elsewhere is looked at, if nothing says that it has changed.
	lookAgain = 250 * time.Millisecond
	// longWait is how long a turn waits without a word.
	longWait = time.Second
	// yields is how long work that somebody else gave the agent is left to them.
	yields = 750 * time.Millisecond
	// unattended is how long nobody takes up an agent that is only followed, until that is said.
	unattended = 3 * time.Second
)

// Turn has the agent work until it rests, here or elsewhere, and shows what it does. It waits a while for an advisor
// that has no time; after an input that only goes on, as long as it takes. Whoever ends ctx interrupts the turn, and
// not the agent.
func (t *Conversation) Turn(ctx context.Context, in Input) error {
	turn, stop := context.WithCancel(ctx)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for {
			select {
			case <-turn.Done():
				return
			case <-t.Stirred:
				if !t.hears() { // what others say meanwhile does not cut into what the model says
					_, _ = t.catchUp(turn) // whoever looks next finds what is wrong
				}
			}
		}
	}()
	if !in.Due {
		t.Node.TryAgain() // a person is here, and may have put right what failed
	}
	err := t.work(turn, in == Input{})
	stop()
	<-shown
	t.Hear(t.Agent, "")
	_, _ = t.catchUp(context.WithoutCancel(ctx)) // as above
	t.mu.Lock()
	t.heard = nil // of what was cut off
	t.mu.Unlock()
	t.halted = err != nil
	return err
}

// hears reports whether the model is saying something.
func (t *Conversation) hears() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live.Len() > 0
}

// attended reports whether another process is at work on the agent, which no interrupt here ends.
func (t *Conversation) attended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.away
}

// watch stirs whenever something is added to memory, until ctx ends.
func (t *Conversation) watch(ctx context.Context) {
	changed := view.Watch(ctx, t.Node.Store)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed.Signal:
			ids, all := changed.Take()
			if _, is := ids[t.Agent]; is || all {
				t.stir()
			}
		}
	}
}

// stir has whoever waits look.
func (t *Conversation) stir() {
	select {
	case t.Stirred <- struct{}{}:
	default:
	}
}

// work runs the agent until it rests. With goes it waits for whatever the agent waits for first.
func (t *Conversation) work(ctx context.Context, goes bool) error {
	t.mu.Lock()
	t.failed, t.away, t.cannot, t.idle = 0, t.Follow, "", nil
	t.mu.Unlock()
	until, begun := time.Now().Add(turnPatience), time.Now()
	for {
		idle, err := t.run(ctx)
		if errors.Is(err, perdure.ErrConflict) {
			if rests, err := t.elsewhere(ctx, begun); rests || err != nil {
				return err
			}
			continue
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if _, err := t.catchUp(ctx); err != nil {
			return err
		}
		t.idle = &idle
		wait := time.Until(idle.Until.Go())
		if idle.Until == 0 || idle.Person || idle.Needs != "" {
			t.cannot = idle.Needs
			return nil
		}
		goes = goes && unanswered(&idle) == nil // what failed has just been tried again
		if !goes && (!t.passes() || time.Now().Add(wait).After(until)) {
			return nil
		}
		goes = false
		if t.waits.Store(true); t.leaves.Load() {
			return context.Canceled
		}
		if wait > longWait {
			why, timed := view.WhyNow(idle, time.Now())
			if !timed {
				why += "; until " + view.Moment(idle.Until, time.Now())
			}
			t.To.Tell(why + "; Ctrl-C stops waiting")
		}
		select {
		case <-time.After(wait):
			t.waits.Store(false)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passes reports whether what kept the advisor from answering passes by itself.
func (t *Conversation) passes() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed == perdure.Throttled || t.failed == perdure.TimedOut || t.failed == perdure.Silent
}

// run runs the agent here, unless that is for another process to do.
func (t *Conversation) run(ctx context.Context) (perdure.Idle, error) {
	if t.Follow {
		return perdure.Idle{}, perdure.ErrConflict
	}
	return t.Node.RunAgent(ctx, t.Agent)
}

// elsewhere waits a while for an agent that is at work in another process, and says whether it rests, or nobody is at
// work on it although it is only followed here.
func (t *Conversation) elsewhere(ctx context.Context, begun time.Time) (bool, error) {
	t.mu.Lock()
	first := !t.away
	t.away = true
	t.mu.Unlock()
	if first {
		t.To.Tell("another process is at work on it: what it does is shown here")
	}
	select {
	case <-time.After(lookAgain):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if _, err := t.catchUp(ctx); err != nil {
		return false, err
	}
	r, err := t.rest(ctx)
	if err != nil {
		return false, err
	}
	if r.ended || !r.Elsewhere && r.Idle {
		return true, nil
	}
	if t.Follow && !r.Elsewhere && time.Since(begun) >= unattended {
		t.To.Tell(nobodyRuns)
		return true, nil
	}
	return false, nil
}
