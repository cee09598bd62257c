package perdure

import (
	"bytes"
	"slices"
	"strconv"
	"time"
)

// pollRecord is how long the answers to a poll stay unrecorded while they are the same: the record says at least so
// often that polling goes on.
const pollRecord = 10 * time.Minute

// unheard is the polls of an agent that this node made and did not record, as they told nothing that is not in memory.
// Losing it costs a poll that comes early.
type unheard struct {
	heads []Hash // of the memory they told nothing new of
	polls []poll // the last of each
	count map[int64]int64
	until time.Time // others leave the agent to this node so long
}

// polled is the agent as it is for this node: with the answers to polls it did not record. It is what to plan on, never
// what to write on.
func (w *work) polled() *Agent {
	u := w.n.unheardOf(w.a)
	if u == nil || len(w.pending) > 0 {
		return w.a
	}
	a := *w.a
	a.fold = w.a.fold.clone()
	for _, p := range u.polls {
		a.fold.recordPoll(p.Index, p.At, &Outcome{Signal: p.Signal, Result: p.Result})
	}
	return &a
}

// unheardOf is what this node did not record of an agent, if its memory is still the same.
func (n *Node) unheardOf(a *Agent) *unheard {
	n.mu.Lock()
	defer n.mu.Unlock()
	u := n.unheard[a.ID()]
	if u == nil || a.fold.Sleep == nil || !slices.Equal(u.heads, a.Heads()) {
		return nil
	}
	return u
}

// hush drops what is pending if that is polls whose answers are those on record, not long ago: memory would grow by the
// second and say nothing new. It reports whether it did.
func (w *work) hush() bool {
	if w.base == nil || w.base.fold.Sleep == nil {
		return false
	}
	if c, ok := w.n.Policy.(interface{ Counts(a *Agent) bool }); ok && c.Counts(w.base) {
		return false
	}
	decided := map[Hash]Decision{}
	var same []poll
	for _, e := range w.pending {
		switch b := e.content.(type) {
		case Decision:
			decided[e.Name] = b
		case Outcome:
			p, ok := w.base.fold.repeats(decided[b.Decision], &b, e.Time, b.Note != "" &&
				!slices.Contains(w.retold, b.Decision))
			if !ok {
				return false
			}
			same = append(same, p)
		default:
			return false
		}
	}
	if len(same) == 0 || len(same) != len(decided) {
		return false
	}
	w.n.hush(w.base, same)
	w.a, w.pending, w.outcome, w.hushed = w.base, w.pending[:0], 0, true
	return true
}

// repeats is the poll that a decision and its outcome are, if the answer is the one on record, and that is not long
// ago. What costs anything, or says more than an answer, is no repetition; said: its tool has said something.
func (f *Fold) repeats(d Decision, o *Outcome, at Time, said bool) (poll, bool) {
	x, _ := d.Action.(Execute)
	index, isPoll := pollIndex(x.Call)
	limit := f.Intent.Budget // what counts calls counts polls
	costs := limit != nil && limit.Calls != nil || o.Spend != nil && (o.Spend.Cost != 0 || o.Spend.Tokens != 0)
	if !isPoll || d.Effect != Read || o.Signal != OK || costs || o.Set != nil || said || o.Taint && f.Taint.IsZero() {
		return poll{}, false
	}
	i := slices.IndexFunc(f.Sleep.Polls, func(p poll) bool { return p.Index == index })
	if i < 0 {
		return poll{}, false
	}
	was := f.Sleep.Polls[i]
	if was.Signal != OK || !bytes.Equal(was.Result, o.Result) || at-was.At >= Time(pollRecord.Milliseconds()) ||
		at < was.At {
		return poll{}, false
	}
	was.At = at
	return was, true
}

// hush remembers polls that told nothing new of an agent.
func (n *Node) hush(a *Agent, polls []poll) {
	n.mu.Lock()
	defer n.mu.Unlock()
	u := n.unheard[a.ID()]
	if u == nil || !slices.Equal(u.heads, a.Heads()) {
		for other := range n.unheard {
			if len(n.unheard) < maxRests {
				break
			}
			delete(n.unheard, other)
		}
		u = &unheard{heads: a.Heads(), count: map[int64]int64{}}
		n.unheard[a.ID()] = u
	}
	next := &unheard{heads: u.heads, count: u.count, polls: slices.Clone(u.polls), until: u.until}
	for _, p := range polls {
		next.count[p.Index]++
		if i := slices.IndexFunc(next.polls, func(q poll) bool { return q.Index == p.Index }); i >= 0 {
			next.polls[i] = p
		} else {
			next.polls = append(next.polls, p)
		}
	}
	n.unheard[a.ID()] = next
}

// noteUnheard says in the outcome of a poll how often the same answer came since the last record.
func (w *work) noteUnheard(o *Open, out *Outcome) {
	x, _ := o.Action.(Execute)
	index, isPoll := pollIndex(x.Call)
	if !isPoll || out.Note != "" {
		return
	}
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	if u := w.n.unheard[w.a.ID()]; u != nil && u.count[index] > 0 && w.base != nil &&
		slices.Equal(u.heads, w.base.Heads()) {
		out.Note = "the answer on record came again " + strconv.FormatInt(u.count[index], 10) + " times since"
		w.retold = append(w.retold, out.Decision)
	}
}
