package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/phase"
)

// tellLack records that this node has no tool or advisor that the agent needs: once for each, however often it looks.
func (w *work) tellLack(idle *Idle) error {
	note := ""
	if _, outside := phase.ScopeIn(idle.Needs); outside {
		return nil
	}
	if name, advisor := phase.AdvisorIn(idle.Needs); advisor && w.n.Advisors[name] == nil {
		note = strings.TrimSpace("this node has no advisor " + name)
	} else if !advisor && idle.Needs != "" && w.n.tool(idle.Needs) == nil {
		note = "this node has no tool " + idle.Needs
	}
	told := func(i Incapability) bool {
		return i.Missing && i.Node == w.n.Key.Key() && i.What == idle.Needs && i.Note == note
	}
	// Where so many cannot, one more says nothing, and would push another out.
	if f := w.a.fold; note == "" || len(f.Incapable) >= maxIncapable || slices.ContainsFunc(f.Incapable, told) {
		return nil
	}
	return w.add(Event{Name: "incapable", By: runtimeName, Notice: Lacks{What: idle.Needs, Note: note}})
}

// consult asks the advisor. What is pending is made durable first, unless the advisor is instant.
func (w *work) consult(ctx context.Context, s consultStep) error {
	adv := w.n.Advisors[s.Advisor]
	if adv == nil {
		return fmt.Errorf("agent %s asks for advisor %q: %w", w.a.ID().Short(), s.Advisor, ErrIncapable)
	}
	if !instant(adv) {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	a := w.a.shown(instant(adv))
	var seen []Hash
	for _, m := range a.fold.Inbox {
		seen = append(seen, m.Event)
	}
	advice, err := w.ask(ctx, adv, *a)
	if err != nil {
		return err
	}
	advice.Advisor = s.Advisor
	// an advisor that takes events one by one says itself which it has taken
	if advice.Signal == 0 && advice.Seen == nil {
		advice.Seen = seen
	}
	advice.Seen = advice.Seen[:min(len(advice.Seen), maxSeen)] // the others are shown again
	if advice.Signal == 0 {
		advice.Seen = w.a.fold.withEchoes(advice.Seen)
	}
	if err := w.addAdvice(&advice); err != nil {
		return err
	}
	if !instant(adv) || advice.Signal != 0 {
		return w.flush(ctx)
	}
	return nil
}

// ask asks an advisor. What keeps it from answering becomes the signal of the advice: a person who pauses or ends the
// agent meanwhile cuts it off. An error says that this node is stopping.
func (w *work) ask(ctx context.Context, adv Advisor, a Agent) (Advice, error) {
	a.epoch, a.asker = a.fold.epochAt(*w.n.placed.Load()), w.n.trust()
	start := time.Now()
	advice, err, cause := w.watchAdvice(ctx, adv, &a)
	if err == nil {
		err = advice.Basis.Check()
	}
	var still stillness
	switch {
	case err == nil:
		advice.Basis, advice.Epoch = w.a.remember(advice.Basis), a.epoch
		advice.Apart = a.epoch == 0 && len(a.fold.Seats) > 0
	case ctx.Err() != nil:
		return Advice{}, ctx.Err()
	case errors.As(cause, &still):
		advice = Advice{Signal: Denied, Text: "it was cut off: " + still.Error()}
	case errors.Is(err, ErrIncapable):
		advice = Advice{Signal: Incapable, Text: err.Error()}
	default:
		advice = Advice{Signal: Failed, Text: err.Error()}
	}
	if took := time.Since(start); took >= time.Millisecond || !instant(adv) {
		advice.Took = max(took.Microseconds(), 1)
	}
	return advice, nil
}

// watchAdvice asks an advisor, cuts it off when it must stop, and says why it did. One that is instant needs no watch.
func (w *work) watchAdvice(ctx context.Context, adv Advisor, a *Agent) (advice Advice, err, cause error) {
	trace, head := a.fold.Trace, a.fold.Heads[0].Name
	if instant(adv) {
		advice, err = w.n.advise(traced(ctx, trace, head), context.Background(), adv, a)
		return advice, err, nil
	}
	call := newCall(ctx)
	call.trace(trace, head)
	t := w.attend(ctx, append(w.attention.calls[:0], call))
	advice, err = w.n.advise(call, ctx, adv, a)
	cause = context.Cause(call)
	t.end()
	return advice, err, cause
}

// addAdvice records advice; advice that cannot be written as it is, is recorded as failed, with what it cost.
func (w *work) addAdvice(a *Advice) error {
	err := w.add(*a)
	if !unrecordable(err) {
		return err
	}
	*a = Advice{Advisor: a.Advisor, Model: a.Model, Usage: a.Usage, Signal: Failed,
		Text: "its advice cannot be recorded: " + err.Error()}
	if err = w.add(*a); unrecordable(err) { // even its usage or name is wrong
		*a = Advice{Advisor: a.Advisor, Signal: Failed, Text: "its advice cannot be recorded"}
		err = w.add(*a)
	}
	return err
}

// advise asks an advisor and turns a panic into an error. One that does not return when this node stops is left behind.
func (n *Node) advise(ctx, node context.Context, adv Advisor, a *Agent) (Advice, error) {
	ctx, over := n.observe(ctx, Begun{What: phase.StepConsult, Agent: a.ID(), Name: a.fold.Intent.Name,
		Advisor: a.fold.Intent.Advisor})
	call := func() (advice Advice, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = n.panicked("advisor", a.ID(), p)
			}
		}()
		return adv.Advise(ctx, a)
	}
	advice, err, returned := leaving(node, call)
	over(Over{Signal: advice.Signal, Model: advice.Model, Usage: advice.Usage, Err: err})
	if !returned {
		n.Log.Error("advisor ignores its context: it is left behind", "advisor", a.fold.Intent.Advisor, "agent",
			a.ID().Short())
		return Advice{}, errLeft
	}
	return advice, err
}

func instant(adv Advisor) bool {
	i, ok := adv.(interface{ Instant() bool })
	return ok && i.Instant()
}
