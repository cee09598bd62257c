package perdure

import (
	"cmp"
	"slices"
	"time"
)

// Tally is how a question to people stands at a time, by the answers that count.
type Tally struct {
	Votes   []Vote // the refusals; without any, the approvals that hold, one per person however often they gave it
	Refused bool   // one refusal outweighs all approvals
	Lacks   int64  // how many more people must approve
	Lapsed  bool   // the time for answers is over
}

// Open reports whether an answer is still waited for.
func (s *Tally) Open() bool { return !s.Answered() && !s.Lapsed }

// Answered reports whether enough people have answered, so or so.
func (s *Tally) Answered() bool { return s.Refused || s.Lacks == 0 }

// Tally is how a question stands here at a time: whose answers count, and which keys are one person's, is as this trust
// has it.
func (t *Trust) Tally(f *Fold, q *Asking, now time.Time) Tally {
	return (&Capabilities{Trust: t}).tally(f, q.by(TimeOf(now)), TimeOf(now))
}

// tally is how a question stands for a node, or for who only looks: without trust everybody's answers count, and some
// node may take each key for a person of its own.
func (c *Capabilities) tally(f *Fold, q *Asking, t Time) Tally {
	person := func(k Key) Key { return cmp.Or(c.Trust, new(Trust)).person(f, q, k) }
	if c.some {
		person = func(k Key) Key { return k }
	}
	return q.tally(t, func(v *Vote) bool { return c.Trust == nil || c.Trust.MayAnswer(f, q, v.Origin) }, person)
}

// tally is how a question stands by the votes that count. Who tells the person a key is of.
func (q *Asking) tally(t Time, counts func(*Vote) bool, who func(Key) Key) Tally {
	s := Tally{Lapsed: q.lapsed(t), Lacks: max(q.Verdict.Quorum, 1)}
	var by []Key
	for i := range q.Votes {
		v := &q.Votes[i]
		holds := !v.Approve || !s.Refused && (v.Expires == 0 || t < v.Expires)
		if !holds || !counts(v) {
			continue
		}
		if !v.Approve && !s.Refused {
			s.Refused, s.Votes = true, nil
		}
		if p := who(v.Origin); !v.Approve || !slices.Contains(by, p) {
			s.Votes, by = append(s.Votes, *v), append(by, p)
		}
	}
	if !s.Refused {
		s.Lacks = max(0, s.Lacks-int64(len(s.Votes)))
	}
	return s
}

// events are the entries that have the votes.
func (s *Tally) events() []Hash {
	names := make([]Hash, len(s.Votes))
	for i := range s.Votes {
		names[i] = s.Votes[i].Event
	}
	return names
}
