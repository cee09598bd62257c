package perdure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// lookEvery is how long a look at the heads of an agent counts: work in quick steps does not look before each of
	// them. An append is a look, too.
	lookEvery = time.Millisecond
	// attendFirst is how long a call may take before somebody looks whether a person has stopped the agent meanwhile,
	// and how often they look at first; of a long call they look less and less often, down to every attendLast.
	attendFirst = 50 * time.Millisecond
	attendLast  = 500 * time.Millisecond
)

// errLate is why a call is cut off at its deadline.
var errLate = errors.New("its deadline has passed")

// errStopping is why a call is cut off when the node has been told to stop and its grace is over.
var errStopping = errors.New("this node was told to stop")

// errUnsaid is why an effect is in doubt whose node is gone.
var errUnsaid = errors.New("whoever began it did not say before its deadline what came of it")

// errLeft says that a tool or an advisor did not return when this node stopped.
var errLeft = errors.New("it did not return when it was told to stop")

// leaveAfter is how long a tool or an advisor may take to return once this node has given up what is under way. A
// process must be able to end whatever its tools do.
const leaveAfter = 3 * time.Second

// lastWithin is how long a node that has given up what was under way goes on to record what is known of it, where its
// store is slow, or away.
const lastWithin = 5 * time.Second

// outlasting is a context that goes on for a while once another has ended. Who has it calls done.
func outlasting(ctx context.Context, while time.Duration) (lasting context.Context, done func()) {
	if ctx.Done() == nil { // it cannot end
		return ctx, func() {}
	}
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(while)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-lasting.Done():
		}
	})
	return lasting, func() {
		stop()
		cancel()
	}
}

// leaving calls do, and reports whether it returned: it is left behind, running, when it has not leaveAfter the end of
// node.
func leaving[T any](node context.Context, do func() (T, error)) (value T, err error, returned bool) {
	if node.Done() == nil { // it cannot end
		value, err = do()
		return value, err, true
	}
	call := &struct {
		value T
		err   error
		ended bool
	}{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		call.value, call.err = do()
		call.ended = true
	}()
	select {
	case <-done:
	case <-node.Done():
		timer := time.NewTimer(leaveAfter)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			return value, nil, false
		}
	}
	if !call.ended {
		runtime.Goexit() // as it did
	}
	return call.value, call.err, true
}

// stillness is why a call is cut off: a person has paused or ended the agent.
type stillness string

func (s stillness) Error() string { return string(s) }

// err is the error that it is; nil: there is none.
func (s stillness) err() error {
	if s == "" {
		return nil
	}
	return s
}

// stilled says why nothing more may be done for the agent, if a person has said so; else it is empty.
func (f *Fold) stilled() stillness {
	switch {
	case f.Ended != nil && f.Ended.Note != "":
		return stillness("the agent was ended: " + f.Ended.Note)
	case f.Ended != nil:
		return "the agent was ended"
	case len(f.Paused) > 0:
		return "the agent was paused"
	case f.Contested:
		return "the ownership of the agent is contested"
	}
	return ""
}

// look takes into account what has arrived for the agent. It is called before each step and before each effect that no
// append comes before: a person's word must not be followed by something decided without it.
func (w *work) look(ctx context.Context) error {
	now := time.Now()
	if len(w.heads) == 0 || now.Sub(w.looked) < lookEvery {
		return nil
	}
	id := w.a.ID()
	heads, err := w.n.Store.Heads(ctx, id)
	if err != nil {
		return fmt.Errorf("look at agent %s: %w", id.Short(), err)
	}
	w.looked = now
	if slices.Equal(heads, w.heads) {
		return nil
	}
	if len(w.pending) > 0 {
		return w.flush(ctx) // what is known of effects is put beside what came, the rest is dropped
	}
	w.yields++
	return w.reload(ctx, id)
}

// stopping reports whether this node has been told to stop: it begins nothing more.
func (w *work) stopping() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// unbegun is what to record of an effect that must not begin any more, and whether that is so. It is asked right before
// the effect, by the wall clock: this process may have stood still since the decision.
func (w *work) unbegun(e *effect, deadline, now time.Time) (called, bool) {
	switch {
	case !now.Before(deadline):
		note := "not begun: its deadline, " + TimeOf(deadline).String() + ", had passed"
		return called{outcome: &Outcome{Decision: e.open.Decision, Signal: TimedOut, Note: note}}, true
	case !w.stopping():
		return called{}, false
	case e.open.Effect.Repeatable():
		return called{}, true // it stays open: the next node does it
	}
	note := "not begun: " + errStopping.Error()
	return called{outcome: &Outcome{Decision: e.open.Decision, Signal: Throttled, RetryAfter: 1, Note: note}}, true
}

// cutOff is what came of an effect whose call ended with its context, not by itself.
func (e *effect) cutOff(ctx context.Context, err error, took time.Duration) called {
	cause := context.Cause(ctx)
	late := errors.Is(cause, errLate) && !errors.Is(err, errLeft)
	stopped := errStopping
	if errors.Is(err, errLeft) {
		stopped = fmt.Errorf("%w, and %s did not return", errStopping, e.open.toolName())
	}
	var still stillness
	switch person := errors.As(cause, &still); {
	case !e.open.Effect.Repeatable() && late:
		return called{} // its deadline says that it is in doubt, not failed
	case !e.open.Effect.Repeatable() && person:
		return called{doubt: fmt.Errorf("it was cut off: %w", still)}
	case !e.open.Effect.Repeatable():
		return called{doubt: fmt.Errorf("it was cut off: %w", stopped)}
	case !late && !person:
		// this node is stopping: the decision stays open, and the next node does it again under the same key
		return called{}
	}
	out := &Outcome{Decision: e.open.Decision, Signal: TimedOut,
		Note: "no answer within " + took.Round(time.Millisecond).String()}
	if still != "" {
		out.Signal, out.Note = Silent, "it was cut off: "+still.Error()
	}
	out.Latency, out.Took, out.Spend = took.Milliseconds(), took.Microseconds(), &Spend{Calls: 1}
	return called{outcome: out}
}

// attention watches over effects under way: it cuts them off when a person pauses or ends the agent, and at their
// deadlines by the wall clock, which goes on while a machine sleeps. It serves one batch of effects after another.
type attention struct {
	n     *Node
	id    AgentID
	heads []Hash // that have been looked at
	calls []*callContext

	timer *time.Timer
	begun time.Time
	ctx   context.Context
	over  chan struct{} // closed when the calls are; nil: it has been
	wg    sync.WaitGroup
}

// attend begins to watch over calls, which it keeps. Those that are over soon cost next to nothing: the watch begins
// later.
func (w *work) attend(ctx context.Context, calls []*callContext) *attention {
	t := &w.attention
	t.n, t.id, t.heads, t.calls, t.begun, t.ctx = w.n, w.a.ID(), w.heads, calls, time.Now(), ctx
	if t.over == nil {
		t.over = make(chan struct{})
	}
	t.wg.Add(1)
	if t.timer == nil {
		t.timer = time.AfterFunc(attendFirst, t.watch)
	} else {
		t.timer.Reset(attendFirst)
	}
	return t
}

// end ends the watch, and the calls with it.
func (t *attention) end() {
	if t.timer.Stop() {
		t.wg.Done() // it has not begun
	} else {
		close(t.over)
		t.wg.Wait()
		t.over = nil
	}
	for i := range t.calls {
		t.calls[i].cancel(nil)
	}
	clear(t.calls)
}

func (t *attention) watch() {
	defer t.wg.Done()
	for t.ctx.Err() == nil {
		now := time.Now()
		for i := range t.calls {
			if c := t.calls[i]; !c.deadline.IsZero() && !now.Before(c.deadline) {
				c.cancel(errLate)
			}
		}
		still := t.news()
		if still != "" {
			for i := range t.calls {
				t.calls[i].cancel(still)
			}
			return
		}
		pause := min(max(time.Since(t.begun)/10, attendFirst, 10*time.Since(now)), attendLast)
		select {
		case <-t.over:
			return
		case <-t.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// news says whether what has arrived since the last look stops the agent. What does not count here stops nothing, nor
// does what no person said.
func (t *attention) news() stillness {
	heads, err := t.n.Store.Heads(t.ctx, t.id)
	if err != nil || slices.Equal(heads, t.heads) {
		return "" // a store that cannot be read now is looked at again
	}
	a, err := t.n.load(t.ctx, t.id)
	if err != nil {
		return ""
	}
	t.heads = heads
	if t.n.trust().Counts(a) != nil {
		return ""
	}
	if end := a.fold.Ended; end != nil {
		if e := a.recent(end.Entry); e != nil && e.Kind == KindDecision && !a.cancelled() {
			return "" // an advisor's, elsewhere: here it waits for what is under way
		}
	}
	return a.fold.stilled()
}

// cancelled reports whether a person has said that the agent ends, also beside an end that came first.
func (a *Agent) cancelled() bool {
	for e := range a.Recent() {
		ev, _ := e.content.(Event)
		if _, ok := ev.Notice.(Cancel); ok {
			return true
		}
	}
	return false
}

const (
	// firstInsist and lastInsist are how long a store that could not write an outcome is left alone, at first and at
	// last.
	firstInsist = 100 * time.Millisecond
	lastInsist  = 5 * time.Second
)

// insist does something in a store. If it must be done, because an outcome nobody else knows would be lost, what may
// pass is tried again until ctx ends, and then once more; the effect is not performed again meanwhile.
func (w *work) insist(ctx context.Context, must bool, do func() error) error {
	began := time.Now()
	for wait := firstInsist; ; wait = min(2*wait, lastInsist) {
		last := ctx.Err() != nil
		err := do()
		if err == nil || !must || !mayPass(err) {
			if wait > firstInsist && err == nil {
				w.n.Log.Info("outcome is recorded after all", "agent", w.a.ID().Short(), "after",
					time.Since(began).Round(time.Millisecond))
			}
			return err
		}
		if last {
			w.n.Log.Error("outcome is not recorded: the node stops, and whether the effect happened is in doubt",
				"agent", w.a.ID().Short(), "err", err)
			return err
		}
		w.n.Log.Error("outcome cannot be recorded: it is kept, and tried again", "agent", w.a.ID().Short(), "in", wait,
			"err", err)
		select {
		case <-ctx.Done(): // it is tried once more
		case <-time.After(wait):
		}
	}
}

// mayPass reports whether what a store could not do may work later: its disk is full, or its server away.
func mayPass(err error) bool {
	for _, final := range []error{ErrConflict, ErrBehind, ErrRejected, ErrNotFound, fs.ErrClosed} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// panicked is the error a panic of a tool, an advisor or a policy becomes. The stack goes to the log: it is for whoever
// wrote that, and may tell more than memory should.
func (n *Node) panicked(who string, id AgentID, value any) error {
	n.Log.Error(who+" panicked", "agent", id.Short(), "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
	return fmt.Errorf("%s panicked: %v", who, value)
}
