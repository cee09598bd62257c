package perdure

import (
	"maps"
	"slices"
	"strings"
)

// close folds an outcome: it settles the reservation, frees what was open, and remembers the signal.
func (f *Fold) close(e *Entry, o *Outcome) {
	if o.Spend != nil {
		f.Spent = f.Spent.Plus(*o.Spend) // of all branches: spend adds up, whatever else is in conflict
	}
	if o.Taint {
		f.Taint = e.Name
	}
	if i := slices.IndexFunc(f.Asks, func(a Asking) bool { return a.Decision == o.Decision }); i >= 0 {
		f.setVars(o.Set)
		f.refuse(e, f.Asks[i].Action)
		f.Denials++
		f.Asks = removed(f.Asks, i)
		return
	}
	i := slices.IndexFunc(f.Open, func(p Open) bool { return p.Decision == o.Decision })
	if i < 0 {
		f.conflict(e, "a second outcome of one decision") // what it sets was set when the first came, and may have changed since
		return
	}
	f.setVars(o.Set)
	open := f.Open[i]
	f.Open = removed(f.Open, i)
	x, isCall := open.Action.(Execute)
	if !isCall {
		f.closeDelegate(&open, o)
		return
	}
	f.recordSignal(x.Tool, e, o.Signal, o.RetryAfter, o.Note)
	if poll, ok := pollIndex(x.Call); ok && f.Sleep != nil {
		f.recordPoll(poll, e.Time, o)
		return
	}
	if f.Ended == nil && open.retryable(o.Signal) {
		f.owe(e, &open, o)
	}
}

// retryable reports whether the same effect should be tried again after signal s: it surely did not happen, or may happen again.
func (o *Open) retryable(s Signal) bool {
	if o.Attempt >= maxAttempts {
		return false
	}
	switch s {
	case Throttled, Incapable:
		return true
	case TimedOut, Silent:
		return o.Effect.Repeatable()
	case OK, Partial, Failed, Denied:
	}
	return false
}

// owe keeps an effect to be tried again. An incapable node costs no attempt: another one has not tried yet.
func (f *Fold) owe(e *Entry, o *Open, out *Outcome) {
	w := Owed{Key: o.Key, Action: o.Action, Effect: o.Effect, Attempt: o.Attempt, Signal: out.Signal, Since: e.Time, After: out.RetryAfter}
	if o.Deadline != 0 {
		w.Limit = int64(o.Deadline - o.Since)
	}
	if out.Signal == Incapable {
		w.Attempt--
	}
	f.Owed = pushed(f.Owed, w, len(f.Owed)+1)
}

// closeDelegate folds whether a child came to be.
func (f *Fold) closeDelegate(o *Open, out *Outcome) {
	if out.Signal == OK {
		return
	}
	if i := slices.IndexFunc(f.Children, func(c ChildInfo) bool { return c.Decision == o.Decision }); i >= 0 {
		c := f.Children[i]
		c.Ended, c.Signal = true, out.Signal
		f.Children = replaced(f.Children, i, c)
	}
}

// recordSignal adds a signal to a tool's record.
func (f *Fold) recordSignal(tool string, e *Entry, s Signal, after int64, note string) {
	if s == Incapable {
		inc := Incapability{Node: e.Origin, What: tool, Note: note, Since: e.Time, Times: 1}
		if i := slices.IndexFunc(f.Incapable, func(i Incapability) bool { return i.Node == inc.Node && i.What == inc.What }); i >= 0 {
			inc.Times += f.Incapable[i].Times
			f.Incapable = removed(f.Incapable, i)
		}
		f.Incapable = pushed(f.Incapable, inc, maxIncapable)
		return
	}
	rec := SignalRecord{Signal: s, Time: e.Time, After: after}
	i, found := slices.BinarySearchFunc(f.Tools, tool, func(t ToolRecord, name string) int { return strings.Compare(t.Tool, name) })
	if found {
		t := f.Tools[i]
		t.Calls, t.Used, t.Last = t.Calls+1, e.Seq, pushed(t.Last, rec, maxSignals)
		f.Tools = replaced(f.Tools, i, t)
		return
	}
	t := ToolRecord{Tool: tool, Calls: 1, Used: e.Seq, Last: []SignalRecord{rec}}
	f.Tools = slices.Insert(slices.Clone(f.Tools), i, t)
	if len(f.Tools) > maxTools {
		oldest := 0
		for j := range f.Tools {
			if f.Tools[j].Used < f.Tools[oldest].Used {
				oldest = j
			}
		}
		f.Tools = slices.Delete(f.Tools, oldest, oldest+1)
	}
}

// recordPoll keeps the latest answer to a polling tool.
func (f *Fold) recordPoll(index int64, at Time, o *Outcome) {
	s := *f.Sleep
	p := Poll{Index: index, At: at, Signal: o.Signal, Result: o.Result}
	i, found := slices.BinarySearchFunc(s.Polls, index, func(p Poll, n int64) int { return int(p.Index - n) })
	if found {
		s.Polls = replaced(s.Polls, i, p)
	} else {
		s.Polls = slices.Insert(slices.Clone(s.Polls), i, p)
	}
	f.Sleep = &s
}

// setVars changes the agent's state. A null removes the name.
func (f *Fold) setVars(set map[string]Data) {
	if len(set) == 0 {
		return
	}
	vars := maps.Clone(f.Vars)
	if vars == nil {
		vars = make(map[string]Data, len(set))
	}
	for k, v := range set {
		if isNull(v) {
			delete(vars, k)
			continue
		}
		vars[k] = v
	}
	f.Vars = vars
	if len(vars) == 0 {
		f.Vars = nil
	}
}

// isNull reports whether d is the value null, which takes a name out of the agent's state.
func isNull(d Data) bool { return len(d) == 1 && d[0] == 0xf6 }
