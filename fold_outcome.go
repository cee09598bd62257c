package perdure

import (
	"slices"
	"strings"
)

// close folds an outcome: it settles the reservation, frees what was open, and remembers the signal. Settled says that
// a person looked, and told what came of it by a Settle.
func (f *Fold) close(e *Entry, o *Outcome, settled bool) {
	if o.Spend != nil {
		f.Spent = f.Spent.plus(*o.Spend) // of all branches: spend adds up, whatever else is in conflict
	}
	if o.Taint {
		f.Taint = e.Name
	}
	if i := f.findAsk(o.Decision); i >= 0 {
		f.setVars(e, o.Set)
		f.refuse(e, f.Asks[i].Action)
		f.refuseWake(f.Asks[i].Action)
		if n, ok := f.rereads(f.Asks[i].Action); ok {
			f.changed(n)
		}
		f.Denials++
		f.dropAsk(i)
		return
	}
	i := f.findOpen(o.Decision)
	if i < 0 {
		if !f.closeOwed(e, o, settled) {
			// what it sets was set when the first came, and may have changed since
			f.conflict(e, "a second outcome of one decision")
			if o.Signal == OK {
				f.happens(e, o.Decision)
			} else {
				f.mislead(e, o.Decision)
			}
		}
		return
	}
	if !settled && !f.believes(e.Origin, &f.Open[i], o) {
		f.doubt(i)
		f.conflict(e, "told by somebody who did not begin it: whether it happened stays in doubt")
		return
	}
	f.setVars(e, o.Set)
	open := f.Open[i]
	if !open.Effect.Repeatable() && didNot(o.Signal) {
		f.undone(o.Decision)
	}
	f.weigh().actions -= open.weight()
	f.Open = without(f, f.Open, i, &f.own.open)
	x, isCall := open.Action.(Execute)
	if !isCall {
		f.closeDelegate(&open, o)
		return
	}
	switch {
	case open.Effect.Repeatable():
	case o.Signal == OK:
		f.made = extended(f, f.made, made{e.Position(), o.Decision, callKey(&x)}, maxActs, &f.rooms.made)
	default:
		f.unmake(o.Decision, &x, o.Signal)
	}
	f.recordSignal(x.Tool, e, SignalRecord{Signal: o.Signal, After: o.RetryAfter, Took: o.Took}, o.Note)
	if poll, ok := pollIndex(x.Call); ok && f.Sleep != nil {
		f.recordPoll(poll, e.Time, o)
		return
	}
	if f.Ended == nil && f.again(e.Origin, &open, o, settled) {
		f.owe(e, &open, o)
	} else if n, ok := f.rereads(x); ok {
		f.reread(e, n, o)
	}
}

// refuseWake remembers that a person did not let the agent wake, so that nobody is asked again before something has
// happened to it.
func (f *Fold) refuseWake(a Action) {
	if w, ok := a.(Wake); ok && f.Sleep != nil && f.Sleep.Decision == w.Sleep {
		s := *f.Sleep
		s.Refused = true
		f.Sleep = &s
	}
}

// closeDelegate folds whether a child came to be.
func (f *Fold) closeDelegate(o *Open, out *Outcome) {
	if out.Signal == OK {
		return
	}
	i := find(f, f.Children, func(c *ChildInfo) bool { return c.Decision == o.Decision })
	if i < 0 {
		return
	}
	c := f.Children[i]
	c.Signal = out.Signal
	f.endChild(i, c)
}

// endChild makes c, which has ended, the i-th child, and forgets those that ended longest ago where there are too many,
// or their results too large.
func (f *Fold) endChild(i int, c ChildInfo) {
	w := f.weigh()
	if !c.Ended {
		w.ended, w.results = w.ended+1, w.results+len(c.Result)
	}
	c.Ended = true
	f.Children = mine(f, f.Children, &f.own.children)
	f.Children[i] = c
	for w.ended > maxEndedChildren || (w.ended > 1 && w.results > maxResultBytes) {
		oldest := find(f, f.Children, func(c *ChildInfo) bool { return c.Ended })
		w.ended, w.results = w.ended-1, w.results-len(f.Children[oldest].Result)
		f.Children = without(f, f.Children, oldest, &f.own.children)
	}
}

// recordSignal adds a signal to a tool's record.
func (f *Fold) recordSignal(tool string, e *Entry, rec SignalRecord, note string) {
	if rec.Signal == Incapable {
		f.recordIncapable(Incapability{Node: e.Origin, What: tool, Note: note, Since: e.Time, Times: 1})
		return
	}
	rec.Time = e.Time
	i, found := slices.BinarySearchFunc(f.Tools, tool, func(t ToolRecord, name string) int {
		return strings.Compare(t.Tool, name)
	})
	f.Tools = mine(f, f.Tools, &f.own.tools)
	if found {
		t := &f.Tools[i]
		t.Calls, t.Used, t.Last = t.Calls+1, e.Seq, extended(f, t.Last, rec, maxSignals, &t.room)
		return
	}
	t := ToolRecord{Tool: tool, Calls: 1, Used: e.Seq, Last: []SignalRecord{rec}}
	f.work += int64(len(f.Tools) - i)
	f.Tools = slices.Insert(f.Tools, i, t)
	if len(f.Tools) > maxTools {
		f.work += int64(len(f.Tools))
		oldest := 0
		for j := range f.Tools {
			if f.Tools[j].Used < f.Tools[oldest].Used {
				oldest = j
			}
		}
		f.Tools = without(f, f.Tools, oldest, &f.own.tools)
	}
}

// recordIncapable adds what a node has shown that it cannot do, in the place of what it had shown before of the same
// kind.
func (f *Fold) recordIncapable(inc Incapability) {
	i := find(f, f.Incapable, func(i *Incapability) bool {
		return i.Node == inc.Node && i.What == inc.What && i.Missing == inc.Missing
	})
	f.Incapable = mine(f, f.Incapable, &f.own.incapable)
	if i >= 0 {
		inc.Times += f.Incapable[i].Times
		f.Incapable = without(f, f.Incapable, i, &f.own.incapable)
	}
	f.Incapable = append(f.Incapable[max(0, len(f.Incapable)+1-maxIncapable):], inc)
}

// recordPoll keeps the latest answer to a polling tool. No trigger has a poll of a higher index than it may have parts.
func (f *Fold) recordPoll(index int64, at Time, o *Outcome) {
	if index >= maxTriggers {
		return
	}
	s := *f.Sleep
	p := poll{Index: index, At: at, Signal: o.Signal, Result: o.Result}
	size := len(p.Result)
	for i := range s.Polls {
		if s.Polls[i].Index != index {
			size += len(s.Polls[i].Result)
		}
	}
	if size > maxPollBytes {
		p.Result = nil
	}
	i, found := slices.BinarySearchFunc(s.Polls, index, func(p poll, n int64) int { return int(p.Index - n) })
	if found {
		s.Polls = replaced(s.Polls, i, p)
	} else {
		s.Polls = slices.Insert(slices.Clone(s.Polls), i, p)
	}
	f.Sleep = &s
}

// isNull reports whether d is the value null, which takes a name out of the agent's state.
func isNull(d Data) bool { return len(d) == 1 && d[0] == 0xf6 }
