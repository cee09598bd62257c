package perdure

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/keeper"
	"github.com/perdure/perdure/internal/ruling"
	"github.com/perdure/perdure/phase"
)

// runtimeVerdict is the verdict of what the runtime does by itself, without a proposal.
func (n *Node) runtimeVerdict(rule string) Verdict {
	return Verdict{Answer: Allow, Rules: []string{"runtime." + rule}}
}

// verdict is what policy says, within the bounds no policy can widen: the agent's own tools, budget and scope. Going to
// sleep and ending cost nothing, so no budget stands in their way.
func (n *Node) verdict(a *Agent, r Request, d *Decision, now time.Time) Verdict {
	if v, forbidden := n.forbids(a, r.Action, d); forbidden {
		return v
	}
	if n.Policy == nil && !rests(r.Action) {
		return Verdict{Rules: []string{"runtime.no-policy"}, Reason: "this node has no policy: everything is denied"}
	}
	v := Verdict{Rules: []string{"runtime.no-policy"}, Reason: "this node has no policy"}
	if n.Policy != nil {
		v = n.trust().asksHere(a.fold, n.decidePolicy(a, r, now))
	}
	if v.Answer != Allow && rests(r.Action) {
		return restVerdict(&v)
	}
	if v.Answer > Allow {
		return Verdict{Reason: "policy gave an answer that does not exist"}
	}
	return v
}

// forbids is the verdict of the runtime itself on an action that it denies without asking policy or people.
func (n *Node) forbids(a *Agent, act Action, d *Decision) (v Verdict, forbidden bool) {
	if rule, reason := bounds(a.fold, act, d); rule != "" {
		return Verdict{Answer: Deny, Rules: []string{"runtime." + rule}, Reason: reason}, true
	}
	if _, ok := act.(Delegate); ok && n.trust().hearsay(a.fold) {
		reason := fmt.Sprintf("who may approve in it and run it is what %s says, in the name of its owner: "+
			"a child begun here would make that so", a.fold.Begun.Short())
		return Verdict{Answer: Deny, Rules: []string{"runtime.delegate"}, Reason: reason}, true
	}
	if x, ok := act.(Execute); ok { // before policy and people: they judge what the tool would do, or nothing
		if err := n.checkArguments(&x); err != nil {
			reason := clipped(fmt.Sprintf("arguments of %s: %v", x.Tool, err), maxArgumentReason)
			return Verdict{Answer: Deny, Rules: []string{ruling.Arguments}, Reason: reason}, true
		}
	}
	return v, false
}

// Forbids is the verdict of the runtime itself on an action that this node denies whatever policy says: the agent has
// ended, its bounds do not include the action, or the arguments do not fit the tool. Otherwise policy is asked.
func (n *Node) Forbids(a *Agent, act Action) (v Verdict, forbidden bool, err error) {
	if err := n.init(); err != nil {
		return v, false, err
	}
	if a.fold.Ended != nil {
		return Verdict{Answer: Deny, Rules: []string{"runtime.ended"}, Reason: "the agent has ended"}, true, nil
	}
	d := new(Decision)
	if x, ok := act.(Execute); ok {
		spec, _ := n.spec(x.Tool)
		reserve := spec.Reserve.plus(Spend{Calls: 1})
		d.Reserve = &reserve
	}
	v, forbidden = n.forbids(a, act, d)
	return v, forbidden, nil
}

// rests reports whether an action makes an agent do less: it sleeps or ends.
func rests(a Action) bool {
	switch a.(type) {
	case Sleep, End:
		return true
	case Execute, Delegate, Mutate, Wake:
	}
	return false
}

// restVerdict lets an agent rest whatever policy says: one that may do neither would go on until somebody stops it.
func restVerdict(said *Verdict) Verdict {
	v := *said
	v.Answer, v.Rules = Allow, append([]string{ruling.Rest}, said.Rules...)
	v.Quorum, v.Expires, v.Asked, v.Escalate = 0, 0, nil, nil
	v.Reason = "nothing keeps an agent from sleeping or ending; policy says " + min(said.Answer, Allow).String() +
		noted(said.Reason)
	return v
}

// wakeAgain is how long an agent that policy does not let wake is left alone if nothing happens to it: rules may look
// at the time.
const wakeAgain = restFor

// unruled reports whether a verdict denies only because nothing permits.
func (v *Verdict) unruled() bool {
	for _, rule := range v.Rules {
		if _, own, ok := strings.Cut(rule, ":"); ok { // of a set the charter names
			rule = own
		}
		if rule != ruling.Default {
			return false
		}
	}
	return true
}

// sleepsOn is the idle step for an agent that policy does not let wake.
func sleepsOn(v *Verdict, now time.Time) Idle {
	why := v.Reason
	if why == "" {
		why = strings.Join(v.Rules, ", ")
	}
	return idleFor(Reason{Kind: phase.RestPolicy, Until: TimeOf(now.Add(wakeAgain)), Note: why})
}

// judged is a step after a look at policy, if it is given: the wake of an agent that policy denies is no step to take.
func (c *Capabilities) judged(a *Agent, s Step, now time.Time) Step {
	r, ok := s.(rouseStep)
	if !ok || c.Policy == nil {
		return s
	}
	n := &Node{Policy: c.Policy, Log: slog.New(slog.DiscardHandler)}
	if v := n.decidePolicy(a, Request{Action: r.Wake, Node: c.Node}, now); v.Answer == Deny && !v.unruled() {
		return sleepsOn(&v, now)
	}
	return s
}

// refuses says why this node does not take up an effect that was allowed before; nothing: it may. An entry says what
// its author decided, not what happens here: only what this node allowed itself, under the policy it still has, is not
// asked about again.
func (w *work) refuses(ctx context.Context, o *Open, now time.Time) (string, error) {
	decision := w.a.recent(o.Decision)
	if w.own(decision) {
		return "", nil
	}
	caps := w.n.capabilities(w.claim != nil, nil)
	spec, _ := w.n.spec(o.toolName())
	r, err := w.n.rehearsal(ctx, w.a)
	if err != nil {
		return "", err
	}
	if why := r.refuse(o.Action, &spec); why != "" || r.has(o.Action) {
		return why, nil
	}
	before := *w.a
	before.fold = w.a.fold.without(o)
	if d, ok := o.Action.(Delegate); ok {
		if err := before.fold.checkCameOf(&d, o.Child); err != nil {
			return fmt.Sprintf("not tried again: %s decided it, and %v", o.Origin.Short(), err), nil
		}
	}
	req := Request{Action: o.Action, Effect: caps.class(w.a.fold, o.Action, o.Effect), Node: w.n.Key.Key()}
	v := w.n.verdict(&before, req, &Decision{Reserve: &o.Reserve}, now)
	if v.Answer == Ask && w.approved(decision, o.Action, &v, now) {
		v.Answer = Allow
	}
	if v.Answer == Allow {
		return "", nil
	}
	return fmt.Sprintf("not tried again: %s allowed it, and here policy says %s%s", o.Origin.Short(), v.Answer,
		noted(v.Reason)), nil
}

// own reports whether this node made a decision under the policy it still has.
func (w *work) own(decision *Entry) bool {
	return decision != nil && decision.Origin == w.n.Key.Key() && decision.Policy == w.n.PolicyHash &&
		!w.n.PolicyHash.IsZero()
}

// noted is a reason after what it is the reason of.
func noted(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// approved reports whether enough people approved a decision of somebody else, of those this node's policy asks: each
// vote for exactly this action, neither it nor its question lapsed by the clock here, none used by another decision,
// and no refusal left unheard.
func (w *work) approved(decision *Entry, act Action, v *Verdict, now time.Time) bool {
	if decision == nil {
		return false
	}
	d, _ := decision.content.(Decision)
	var by []Key
	for _, name := range d.Approvals {
		vote := w.a.recent(name)
		if vote == nil {
			return false
		}
		ev, _ := vote.content.(Event)
		n, _ := ev.Notice.(Approval)
		digest, err := effectDigest(w.a.ID(), n.Decision, act)
		switch {
		case err != nil || n.Digest != digest || w.lapsed(n.Decision, now):
			return false
		case n.Approve && n.Expires != 0 && TimeOf(now) >= n.Expires:
			return false // whoever decided may have said that it was earlier
		case n.Approve:
			by = append(by, vote.Origin)
		case w.n.trust().MayAnswer(w.a.fold, &Asking{Verdict: *v}, vote.Origin):
			return false // a refusal the author of the decision chose not to hear
		}
	}
	for e := range w.a.Counting() {
		other, ok := e.content.(Decision)
		if ok && e != decision && slices.ContainsFunc(other.Approvals, func(h Hash) bool {
			return slices.Contains(d.Approvals, h)
		}) {
			return false // on another branch
		}
	}
	return w.enough(v, 0, by)
}

// lapsed reports whether a question has lapsed by the clock here, or cannot be looked at any more.
func (w *work) lapsed(question Hash, now time.Time) bool {
	e := w.a.recent(question)
	if e == nil {
		return true
	}
	d, _ := e.content.(Decision)
	return (&Asking{Verdict: d.Verdict}).lapsed(TimeOf(now))
}

// judged is the verdict on what people may have been asked about: allow if enough of those approved whom this node's
// policy asks now.
func (w *work) judged(ctx context.Context, r Request, d *Decision, approvals []Hash, now time.Time) (Verdict, error) {
	given, err := w.given(ctx, approvals, now)
	if err != nil {
		return Verdict{}, err
	}
	if given != nil && !given.counted { // rules may look at how many approved: that is for who asks the same to say
		r.Approvals = 0
		unanswered := w.n.verdict(w.a, r, d, now)
		r.Approvals = w.people(&unanswered, given.after, given.by)
	}
	v := w.n.verdict(w.a, r, d, now)
	if v.Answer == Ask && given != nil && (given.counted || w.enough(&v, given.after, given.by)) {
		v.Answer = Allow
		v.Rules = append(slices.Clone(v.Rules), "runtime.approved")
	}
	return v, nil
}

// approvers are who approved an action, a time after it was asked about.
type approvers struct {
	by      []Key
	after   Time
	counted bool // by Plan, as the policy of this node has it
}

// given is who gave approvals; nil: nobody was asked. Who was asked, and how many, is on record only as the author of
// the question has it. Where that is this node, under the policy it still has, Plan has counted.
func (w *work) given(ctx context.Context, approvals []Hash, now time.Time) (*approvers, error) {
	i := slices.IndexFunc(w.a.fold.Asks, func(q Asking) bool {
		return slices.ContainsFunc(q.Votes, func(v Vote) bool { return slices.Contains(approvals, v.Event) })
	})
	if i < 0 {
		return nil, nil
	}
	q := &w.a.fold.Asks[i]
	asked, err := w.a.Find(ctx, w.n.Store, q.Decision)
	if err != nil {
		return nil, err
	}
	g := &approvers{after: TimeOf(now) - q.Since, counted: w.own(asked)}
	if asked == nil || !w.n.trust().Allows(asked.Origin, MayOwn, w.a.fold.Charter.Scope) {
		g.after = 0 // when it was asked is its author's word: whoever is asked later was not asked yet
	}
	for _, vote := range q.Votes {
		if vote.Approve && slices.Contains(approvals, vote.Event) {
			g.by = append(g.by, vote.Origin)
		}
	}
	return g, nil
}

// enough reports whether the people who approved are as many as a verdict asks for, of those it asks, a time after it
// asked.
func (w *work) enough(v *Verdict, after Time, by []Key) bool {
	return int64(w.people(v, after, by)) >= max(v.Quorum, 1)
}

// people is how many people the keys are of, of those a verdict asks, a time after it asked.
func (w *work) people(v *Verdict, after Time, by []Key) int {
	q := Asking{Verdict: *v}
	for _, e := range v.Escalate {
		if e.At-TimeOf(time.Now()) <= after {
			q.Stage++
		}
	}
	var counted []Key
	for _, k := range by {
		if p := w.n.trust().person(w.a.fold, &q, k); w.n.trust().MayAnswer(w.a.fold, &q, k) &&
			!slices.Contains(counted, p) {
			counted = append(counted, p)
		}
	}
	return len(counted)
}

// without is the fold as if an effect had not been decided.
func (f *Fold) without(o *Open) *Fold {
	g := f.clone()
	g.Open = slices.DeleteFunc(slices.Clone(f.Open), func(p Open) bool { return p.Decision == o.Decision })
	g.Children = slices.DeleteFunc(slices.Clone(f.Children), func(c ChildInfo) bool { return c.Decision == o.Decision })
	return g
}

// decidePolicy asks policy. A policy that panics denies.
func (n *Node) decidePolicy(a *Agent, r Request, now time.Time) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = Verdict{Rules: []string{"runtime.policy-panic"}, Reason: n.panicked("policy", a.ID(), p).Error()}
		}
	}()
	return n.Policy.Decide(a, n.trust().Sees(a, r), now)
}

// OutOfBounds says why the agent's own bounds forbid an action, whatever policy says of it; empty: they do not.
func (f *Fold) OutOfBounds(act Action) string {
	_, why := bounds(f, act, new(Decision))
	return why
}

// bounds names the bound of the agent an action breaks, if it breaks one.
func bounds(f *Fold, act Action, d *Decision) (rule, reason string) {
	switch x := act.(type) {
	case Execute:
		if f.denies(x.Tool) {
			return "tools", fmt.Sprintf("tool %s is not among those of the intent", x.Tool)
		}
		if f.Charter.Scope == NoScope {
			return "scope", "nothing is in scope any more"
		}
		if d.Reserve != nil {
			if missing, ok := f.affords(*d.Reserve); !ok {
				return "budget", missing
			}
		}
	case Sleep:
		if err := CheckTrigger(x.Trigger); err != nil {
			return "trigger", err.Error()
		}
	case Delegate:
		if _, err := f.ChildGenesis(&x, d.Advice); err != nil {
			return "delegate", err.Error()
		}
		if keeper.Is(x.Intent.Kind) {
			return "kind", "kind " + x.Intent.Kind + ": such agents only keep documents, and no agent makes one"
		}
		for name := range keeper.Labels(x.Intent.Labels) {
			return "labels", keptLabel(name)
		}
	case Mutate:
		if err := f.remakes(&x); err != nil {
			return "kind", err.Error()
		}
		if !x.StateSchema.IsZero() {
			return "state-schema",
				"the schema of a state changes together with the state, by whoever keeps the agent: perdure lode " +
					"upgrade"
		}
	case Wake, End:
	}
	return "", ""
}
