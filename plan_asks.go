package perdure

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/phase"
)

// planAsks deals with questions a person has answered, or will not. A question lapses by the clock here before its
// approvals are looked at: when they were given is their authors' word.
func (f *Fold) planAsks(c *Capabilities, t Time, rest *Idle) Step {
	for i := range f.Asks {
		q := f.Asks[i].by(t)
		asked := func(v *Vote) bool { return c.Trust == nil || c.Trust.MayAnswer(f, q, v.Origin) }
		yes, no := q.count(t, asked, func(k Key) Key { return c.person(f, q, k) })
		enough := int64(len(yes)) >= max(q.Verdict.Quorum, 1)
		rest.Until = earliest(rest.Until, q.Verdict.Expires)
		switch {
		case no:
			return lapseStep{Outcome{Decision: q.Decision, Signal: Denied, Note: refusedByPerson}, q.refusal(asked)}
		case q.lapsed(t):
			note := "nobody answered before "
			if enough {
				note = "approved, but no node acted on it before "
			}
			return lapseStep{Outcome: Outcome{Decision: q.Decision, Signal: Denied,
				Note: note + q.Verdict.Expires.String()}}
		case enough && len(f.Open) < maxOpen:
			if s, ok := f.mayDecide(c, q.Action, t, rest); s != nil {
				return s
			} else if !ok {
				continue // the approval is for a node that can
			}
			if s, wait := f.outdated(c, q.Action, t, rest); s != nil {
				return s
			} else if wait && !c.some { // where fewer answers count, it may be put to more people meanwhile
				continue
			} else if wait {
				break
			}
			return decideStep{Action: q.Action, Advice: q.Advice, Index: q.Index, Key: q.Key, Approvals: yes,
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

// person tells the people behind keys apart. Some node may take each key for a person of its own.
func (c *Capabilities) person(f *Fold, q *Asking, k Key) Key {
	if c.some {
		return k
	}
	return cmp.Or(c.Trust, new(Trust)).person(f, q, k)
}

// count is the approvals that hold now, one per person however often they gave it, and whether somebody refused, of the
// votes that count. Who tells the person a key is of.
func (q *Asking) count(t Time, counts func(*Vote) bool, who func(Key) Key) (yes []Hash, no bool) {
	var by []Key
	for i := range q.Votes {
		v := &q.Votes[i]
		if !counts(v) {
			continue
		}
		if !v.Approve {
			return nil, true
		}
		if v.Expires != 0 && t >= v.Expires {
			continue
		}
		if p := who(v.Origin); !slices.Contains(by, p) {
			yes, by = append(yes, v.Event), append(by, p)
		}
	}
	return yes, false
}

// refusedByPerson is the note of what a person refused, before their own words.
const refusedByPerson = "refused by a person"

// refusal is the first vote against it that counts.
func (q *Asking) refusal(counts func(*Vote) bool) Hash {
	i := slices.IndexFunc(q.Votes, func(v Vote) bool { return !v.Approve && counts(&v) })
	if i < 0 {
		return Hash{}
	}
	return q.Votes[i].Event
}

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
