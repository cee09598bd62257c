package perdure

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/ruling"
)

// decideAll asks policy about a proposal, and about those after it that may run beside it; then performs what was
// allowed.
func (w *work) decideAll(ctx context.Context, d decideStep, now time.Time) error {
	var effects []effect
	var busy []Hash
	for {
		eff, err := w.decide(ctx, d, now)
		if err != nil {
			return err
		}
		if eff == nil {
			break // decided, and nothing to perform: the agent itself changed
		}
		effects = append(effects, *eff)
		busy = append(busy, eff.open.Decision)
		if len(effects) >= w.n.parallel() {
			break
		}
		c := w.n.capabilities(w.claim != nil, busy)
		c.quiet = true // only a decision is taken up, not why there is none
		next, ok := Plan(w.a, c, now).(decideStep)
		if !ok || !parallel(next.Action) {
			break
		}
		d = next
	}
	if len(effects) == 0 {
		return w.flush(ctx)
	}
	return w.perform(ctx, effects)
}

// decide asks policy about one action and records the decision. It returns the effect to perform, if one was allowed.
func (w *work) decide(ctx context.Context, d decideStep, now time.Time) (*effect, error) {
	for _, ev := range w.n.enclose(w.a.fold) {
		if err := w.addAt(now, ev); err != nil {
			return nil, err
		}
	}
	spec, _ := w.n.spec(toolOf(d.Action))
	dec := w.drafted(d, &spec, now)
	if err := w.pronounce(ctx, d, &spec, &dec, now); err != nil {
		return nil, err
	}
	if err := w.addAt(now, dec); err != nil {
		return nil, err
	}
	if o := slices.IndexFunc(w.a.fold.Open, func(o Open) bool {
		return o.Decision == w.pending[len(w.pending)-1].Name
	}); o >= 0 {
		return &effect{open: w.a.fold.Open[o]}, nil
	}
	return nil, nil
}

// drafted is the decision about an action as far as it does not depend on the verdict: what it is about, and with which
// effect, until when and for how much it may be done.
func (w *work) drafted(d decideStep, spec *Spec, now time.Time) Decision {
	dec := Decision{Advice: d.Advice, Index: d.Index, Approvals: slices.Concat(d.Approvals, d.Ignored), Key: d.Key}
	// What was approved is said again, and what is no longer offered: the advice of a question may be gone before its
	// answer comes.
	if len(d.Approvals) > 0 || !w.a.fold.offers(d.Advice, d.Index) {
		dec.Action = d.Action
	}
	switch x := d.Action.(type) {
	case Execute:
		dec.Effect, dec.Deadline = cmp.Or(spec.Effect, Once), TimeOf(now.Add(limitOf(d, &x, spec)))
		if dec.Effect == Idempotent && dec.Key.IsZero() {
			dec.Key = idempotencyKey(w.a.fold, d, w.apart(d.Advice))
		}
		reserve := spec.Reserve.plus(Spend{Calls: 1})
		dec.Reserve = &reserve
	case Delegate:
		dec.Effect, dec.Deadline = Idempotent, TimeOf(now.Add(defaultDeadline))
	case Mutate, Sleep, Wake, End:
	}
	return dec
}

// limitOf is how long a call may take: as the step says, else the advisor, else the tool.
func limitOf(d decideStep, x *Execute, spec *Spec) time.Duration {
	switch {
	case d.Limit > 0:
		return millis(d.Limit)
	case x.Deadline > 0:
		return millis(x.Deadline)
	}
	return or(spec.Deadline, defaultDeadline)
}

// pronounce puts the verdict into a decision, and takes out of it what one that is not allowed does not have.
func (w *work) pronounce(ctx context.Context, d decideStep, spec *Spec, dec *Decision, now time.Time) error {
	r, err := w.n.rehearsal(ctx, w.a)
	if err != nil {
		return err
	}
	switch why := r.refuse(d.Action, spec); {
	case d.Outdated != "":
		dec.Verdict = Verdict{Rules: []string{ruling.Outdated}, Reason: d.Outdated}
	case why != "":
		dec.Verdict = Verdict{Rules: []string{"runtime.rehearsal"}, Reason: why + "; a live fork acts for itself"}
	case r.has(d.Action): // nothing happens outside, so there is nothing to permit, to pay for or to be in doubt about
		dec.Verdict = Verdict{Answer: Allow, Rules: []string{ruling.Record},
			Reason: "it is answered from the record of " + r.parent.Short()}
		dec.Effect, dec.Reserve, dec.Key = Read, nil, Hash{}
	default:
		req := Request{Action: d.Action, Approvals: len(d.Approvals), Node: w.n.Key.Key()}
		if _, calls := d.Action.(Execute); calls {
			req.Effect = dec.Effect
		}
		if dec.Verdict, err = w.judged(ctx, req, dec, d.Approvals, now); err != nil {
			return err
		}
	}
	w.bounded(d, dec, now)
	return nil
}

// bounded denies what was allowed and cannot be: a child wider than its parent, or arguments that are too large.
func (w *work) bounded(d decideStep, dec *Decision, now time.Time) {
	if dec.Verdict.Answer == Allow {
		if err := w.attachChild(d, dec, now); err != nil {
			dec.Verdict = Verdict{Answer: Deny, Rules: []string{"runtime.delegate"}, Reason: err.Error()}
		}
	}
	if dec.Verdict.Answer != Deny && !w.a.fold.fits(d.Action) {
		dec.Verdict = Verdict{Answer: Deny, Rules: []string{"runtime.size"},
			Reason: "its arguments and those of what is under way are too large together: pass large things by name"}
		dec.Child = nil
	}
	if dec.Verdict.Answer != Allow {
		dec.Reserve, dec.Deadline = nil, 0
	}
}

// longestLimit is the most time an effect is given. What an advisor asks for beyond it must not overflow into the past.
const longestLimit = 10 * 365 * 24 * time.Hour

// millis is a number of milliseconds, up to longestLimit.
func millis(n int64) time.Duration {
	return time.Duration(min(n, longestLimit.Milliseconds())) * time.Millisecond
}

// attachChild puts the child's genesis into the decision to delegate.
func (w *work) attachChild(d decideStep, dec *Decision, now time.Time) error {
	del, ok := d.Action.(Delegate)
	if !ok {
		return nil
	}
	g, err := w.a.fold.ChildGenesis(&del, d.Advice)
	if err != nil {
		return err
	}
	g.Seat = w.n.placed.Load().ID // where the parent's is
	e, err := w.n.Key.genesis(g, now, w.a.fold.Trace)
	if err == nil {
		err = w.n.Key.seal(e)
	}
	if err != nil {
		return err
	}
	dec.Child, err = e.MarshalBinary()
	return err
}

// idempotencyKey is the key of an effect that may be performed before its decision is durable: after a crash the same
// proposal at the same turn has the same key again.
func idempotencyKey(f *Fold, d decideStep, apart Hash) Hash {
	b, err := keyCodec.Append(nil, &keyRecord{Agent: f.Agent, Turn: f.Turns, Index: d.Index, Action: d.Action})
	if err != nil {
		return Hash{}
	}
	if !apart.IsZero() {
		b = append(b, apart[:]...)
	}
	return HashOf(b)
}

// apart is what tells what a copy without the seat proposed from what others did at the same turn, for something else
// that they were told: the advice, which others may decide about as well; or the store, where a crash would lose the
// advice.
func (w *work) apart(advice Hash) Hash {
	is := func(p proposals) bool { return p.Advice == advice && p.Apart }
	if !slices.ContainsFunc(w.a.fold.Proposals, is) {
		return Hash{}
	}
	if w.instantAdvisor() {
		return w.n.placed.Load().ID
	}
	return advice
}
