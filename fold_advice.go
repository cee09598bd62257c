package perdure

import (
	"slices"

	"github.com/perdure/perdure/phase"
)

// stepAdvice makes new proposals the current ones.
func (f *Fold) stepAdvice(e *Entry, a *Advice) {
	f.Turns++
	if a.Usage != nil {
		f.Spent = f.Spent.plus(Spend{Cost: a.Usage.Cost, Tokens: a.Usage.In + a.Usage.Out})
	}
	if a.Signal != 0 {
		f.recordSignal(f.advisorTool(a.Advisor), e, SignalRecord{Signal: a.Signal, After: a.RetryAfter, Took: a.Took},
			a.Text)
		return
	}
	if a.Advisor != "" {
		f.recordSignal(f.advisorTool(a.Advisor), e, SignalRecord{Signal: OK, Took: a.Took}, "")
	}
	if f.Ended != nil {
		f.offered(e.Name, a.Actions)
		return
	}
	f.see(e, a)
	f.setBasis(e, a)
	if a.Summary != "" {
		f.Summary, f.Since = e.Name, e.Seq
	}
	// Advice whose proposals were all decided is behind us; what is left of older advice is kept a while, so that a
	// decision taken on another branch still finds what it decided.
	keep := make([]proposals, 0, 1)
	for _, p := range f.Proposals {
		if slices.Contains(p.Decided, false) {
			keep = append(keep, p)
		}
	}
	keep = keep[max(0, len(keep)+1-maxAdvice):]
	f.Proposals = append(keep, proposals{Advice: e.Name, Actions: a.Actions, Decided: make([]bool, len(a.Actions)),
		Epoch: a.Epoch, Apart: a.Apart})
	for size := 0; len(f.Proposals) > 1; { // the usual: one
		for i := range f.Proposals {
			size += f.Proposals[i].weight()
		}
		if size <= maxActionBytes {
			break
		}
		f.Proposals, size = f.Proposals[1:], 0
	}
	f.unkept()
	f.Did = phase.Evaluation
}

// offers reports whether a proposal is among those kept, so that a decision need not say what it is about.
func (f *Fold) offers(advice Hash, index int64) bool {
	return slices.ContainsFunc(f.Proposals, func(p proposals) bool {
		return p.Advice == advice && index >= 0 && index < int64(len(p.Actions))
	})
}

// advisorTool is the name under which an advisor's signals are kept.
func advisorTool(advisor string) string { return phase.Advisor(advisor) }

// advisorTool is the same, as the fold has it already, if it does.
func (f *Fold) advisorTool(advisor string) string {
	for i := range f.Tools {
		name := f.Tools[i].Tool
		if of, is := phase.AdvisorIn(name); is && of == advisor {
			return name
		}
	}
	return advisorTool(advisor)
}
