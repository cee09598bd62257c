package perdure

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// runtimeVerdict is the verdict of what the runtime does by itself, without a proposal.
func (n *Node) runtimeVerdict(rule string) Verdict {
	return Verdict{Answer: Allow, Rules: []string{"runtime." + rule}}
}

// verdict is what policy says, within the bounds no policy can widen: the agent's own tools, budget and scope. Going to sleep and ending
// cost nothing, so no budget stands in their way.
func (n *Node) verdict(a *Agent, r Request, d *Decision, now time.Time) Verdict {
	if rule, reason := bounds(a.fold, r.Action, d); rule != "" {
		return Verdict{Answer: Deny, Rules: []string{"runtime." + rule}, Reason: reason}
	}
	if x, ok := r.Action.(Execute); ok { // before policy and people: they judge what the tool would do, or nothing
		if err := n.checkArguments(&x); err != nil {
			reason := clipped(fmt.Sprintf("arguments of %s: %v", x.Tool, err), maxArgumentReason)
			return Verdict{Answer: Deny, Rules: []string{RuleArguments}, Reason: reason}
		}
	}
	if n.Policy == nil {
		return Verdict{Rules: []string{"runtime.no-policy"}, Reason: "this node has no policy: everything is denied"}
	}
	v := decidePolicy(n.Policy, a, r, now)
	if v.Answer == Ask && r.Approvals > 0 { // the quorum has been reached: Plan counted it
		v.Answer = Allow
		v.Rules = append(slices.Clone(v.Rules), "runtime.approved")
	}
	if v.Answer > Allow {
		return Verdict{Reason: "policy gave an answer that does not exist"}
	}
	return v
}

// refuses says why this node does not take up an effect that was allowed before; nothing: it may. An entry says what its author decided, not
// what happens here: only what this node allowed itself, under the policy it still has, is not asked about again.
func (w *work) refuses(ctx context.Context, o *Open, now time.Time) (string, error) {
	decision := w.a.recent(o.Decision)
	if o.Origin == w.n.Key.Key() && decision != nil && decision.Policy == w.n.PolicyHash {
		return "", nil
	}
	caps := w.n.capabilities(w.claimed, nil)
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
	req := Request{Action: o.Action, Effect: caps.class(w.a.fold, o), Node: w.n.Key.Key()}
	v := w.n.verdict(&before, req, &Decision{Reserve: &o.Reserve}, now)
	if v.Answer == Ask && w.approved(decision, &v) {
		v.Answer = Allow
	}
	if v.Answer == Allow {
		return "", nil
	}
	return fmt.Sprintf("not done: %s allowed it, and here policy says %s%s", o.Origin.Short(), v.Answer, noted(v.Reason)), nil
}

// noted is a reason after what it is the reason of.
func noted(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// approved reports whether enough people approved a decision, of those this node's policy asks.
func (w *work) approved(decision *Entry, v *Verdict) bool {
	if decision == nil {
		return false
	}
	d, _ := decision.content.(Decision)
	var by []Key
	for _, name := range d.Approvals {
		vote := w.a.recent(name)
		if vote == nil {
			continue
		}
		ev, _ := vote.content.(Event)
		n, ok := ev.Notice.(Approval)
		if ok && n.Approve && !slices.Contains(by, vote.Origin) && w.n.caps.Trust.MayAnswer(w.a.fold, &Asking{Verdict: *v}, vote.Origin) {
			by = append(by, vote.Origin)
		}
	}
	return int64(len(by)) >= max(v.Quorum, 1)
}

// without is the fold as if an effect had not been decided.
func (f *Fold) without(o *Open) *Fold {
	g := f.clone()
	g.Open = slices.DeleteFunc(slices.Clone(f.Open), func(p Open) bool { return p.Decision == o.Decision })
	g.Children = slices.DeleteFunc(slices.Clone(f.Children), func(c ChildInfo) bool { return c.Decision == o.Decision })
	return g
}

// decidePolicy asks policy. A policy that panics denies.
func decidePolicy(p Policy, a *Agent, r Request, now time.Time) (v Verdict) {
	defer func() {
		if err := recover(); err != nil {
			v = Verdict{Rules: []string{"runtime.policy-panic"}, Reason: fmt.Sprint("policy panicked: ", err)}
		}
	}()
	return p.Decide(a, r, now)
}

// bounds names the bound of the agent an action breaks, if it breaks one.
func bounds(f *Fold, act Action, d *Decision) (rule, reason string) {
	switch x := act.(type) {
	case Execute:
		if f.Intent.Tools != nil && !slices.Contains(f.Intent.Tools, x.Tool) {
			return "tools", fmt.Sprintf("tool %s is not among those of the intent", x.Tool)
		}
		if f.Charter.Scope == NoScope {
			return "scope", "nothing is in scope any more"
		}
		if d.Reserve != nil {
			if missing, ok := f.Affords(*d.Reserve); !ok {
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
	case Mutate:
		if !x.StateSchema.IsZero() {
			return "state-schema", "the schema of a state changes together with the state, by whoever keeps the agent: perdure lode upgrade"
		}
	case Wake, End:
	}
	return "", ""
}
