package perdure

import (
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
	case Mutate, Wake, End:
	}
	return "", ""
}
