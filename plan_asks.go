package perdure

import "github.com/perdure/perdure/phase"

// planAsks deals with questions a person has answered, or will not. A question lapses by the clock here before its
// approvals are looked at: when they were given is their authors' word.
func (f *Fold) planAsks(c *Capabilities, t Time, rest *Idle) Step {
	for i := range f.Asks {
		q := f.Asks[i].by(t)
		s := c.tally(f, q, t)
		rest.Until = earliest(rest.Until, q.Verdict.Expires)
		switch {
		case f.done(q):
			return lapseStep{Outcome: q.lapse()}
		case s.Refused:
			return lapseStep{Outcome{Decision: q.Decision, Signal: Denied, Note: refusedByPerson}, s.Votes[0].Event}
		case s.Lapsed:
			note := "nobody answered before "
			if s.Lacks == 0 {
				note = "approved, but no node acted on it before "
			}
			return lapseStep{Outcome: Outcome{Decision: q.Decision, Signal: Denied,
				Note: note + q.Verdict.Expires.String()}}
		case s.Lacks == 0 && len(f.Open) < maxOpen:
			if step, ok := f.mayDecide(c, q.Action, t, rest); step != nil {
				return step
			} else if !ok {
				continue // the approval is for a node that can
			}
			if step, wait := f.outdated(c, q.Action, t, rest); step != nil {
				return step
			} else if wait && !c.some { // where fewer answers count, it may be put to more people meanwhile
				continue
			} else if wait {
				break
			}
			if again := f.askedAgain(i); again >= 0 {
				if other := c.tally(f, f.Asks[again].by(t), t); other.Refused {
					return lapseStep{Outcome{Decision: q.Decision, Signal: Denied, Note: refusedByPerson},
						other.Votes[0].Event}
				}
				return lapseStep{Outcome: Outcome{Decision: f.Asks[again].Decision, Signal: Denied, Note: askedTwice}}
			}
			return decideStep{Action: q.Action, Advice: q.Advice, Index: q.Index, Key: q.Key, Approvals: s.events(),
				Ignored: q.refusals()}
		}
		more, stage := q.Verdict.Escalate, f.Asks[i].Stage // on record; some of it may be ahead of its time
		if stage < int64(len(more)) {
			next := &more[stage]
			if t >= next.At || ahead(q.Since, t) {
				return escalateStep{Ask: q.Decision, Stage: stage + 1, Asked: next.Asked}
			}
			rest.Until = earliest(rest.Until, next.At)
		}
		if q.Stage < stage && len(q.Votes) > 0 {
			rest.Until = earliest(rest.Until, more[q.Stage].At) // an answer that was given too early counts then
		}
		rest.Person = true
		if !c.quiet {
			r := Reason{Kind: phase.RestApproval, Digest: q.Digest, Asked: q.Asked()}
			if len(f.Charter.Approvers) > 0 {
				r.Note = f.whom(q)
			}
			rest.because(r)
		}
	}
	return nil
}

// askedAgain is another open question about what a question proposes, or -1: a copy asked it, too, or an author wrote
// it down once more. Whoever approves both has not said that it is to be done twice, and whoever refuses one has said
// that it is not to be done.
func (f *Fold) askedAgain(i int) int {
	q := &f.Asks[i]
	for j := range f.Asks {
		if o := &f.Asks[j]; j != i && !q.Advice.IsZero() && o.Advice == q.Advice && o.Index == q.Index && f.same(q, o) {
			return j
		}
	}
	return -1
}

// same reports whether two questions are about the same action: a decision may name another than was proposed.
func (f *Fold) same(q, o *Asking) bool {
	what := func(a Action) Hash {
		is, ok := f.whatIs(a)
		if !ok {
			is, _ = effectDigest(f.Agent, Hash{}, a) // it was written, so that it can be
		}
		return is
	}
	return what(q.Action) == what(o.Action)
}

// askedTwice is the note of a question that was answered where it was asked first.
const askedTwice = "asked twice: it is done once, as the other question about it was answered"

// doneAlready is the note of a question that a copy asked about what was approved elsewhere. What came of it is told
// by its own outcome.
const doneAlready = "asked in a copy: it was approved where it was asked first, and decided there"

// refusedByPerson is the note of what a person refused, before their own words.
const refusedByPerson = "refused by a person"

// refusals are the votes against it.
func (q *Asking) refusals() []Hash {
	var no []Hash
	for _, v := range q.Votes {
		if !v.Approve {
			no = append(no, v.Event)
		}
	}
	return no
}
