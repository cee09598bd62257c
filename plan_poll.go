package perdure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (q *question) poll(t Every) outlook {
	index := q.every
	q.every++
	i, asked := slices.BinarySearchFunc(q.s.Polls, index, func(p poll, n int64) int { return int(p.Index - n) })
	next := q.after(q.s.Since, t.Millis)
	if asked {
		p := &q.s.Polls[i]
		if ok, err := q.holds(pollEnv(), t.Until, "result", p.Result.Value(), "signal",
			p.Signal.String()); err == nil && ok {
			return outlook{Met: true, Why: fmt.Sprintf("%s says %s", t.Poll.Tool, t.Until)}
		}
		next = q.after(p.At, t.Millis)
	}
	w := q.not(outlook{Due: next}, Pending{Trigger: t})
	if TimeOf(q.now) < next {
		return w
	}
	if q.f.polling(index) || q.f.crowded() { // what is under way or asked comes first, and says itself until when
		return q.not(outlook{}, Pending{Trigger: t})
	}
	if _, ok := q.f.affords(Spend{Calls: 1}); !ok { // refused at each time, it would be written down at each
		return q.not(outlook{Poor: true}, Pending{Trigger: t, Poor: true})
	}
	w.Poll = &poll{Index: index}
	return w
}

// nthPoll is the call of the n-th Every of a trigger, marked so that its outcome finds its way back.
func nthPoll(t Trigger, n int64) (Execute, bool) {
	var walk func(Trigger) (Execute, bool)
	walk = func(t Trigger) (Execute, bool) {
		var of []Trigger
		switch t := t.(type) {
		case Every:
			if n == 0 {
				return t.Poll, true
			}
			n--
		case Any:
			of = t.Of
		case All:
			of = t.Of
		case At, After, On, Done, Gather, When:
		}
		for _, t := range of {
			if x, ok := walk(t); ok {
				return x, true
			}
		}
		return Execute{}, false
	}
	x, ok := walk(t)
	return x, ok
}

// The calls a sleep makes by itself are told apart by these prefixes of Execute.Call.
const (
	pollCall    = "poll/"
	recheckCall = "recheck/"
)

func pollIndex(call string) (int64, bool) {
	s, ok := strings.CutPrefix(call, pollCall)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return n, err == nil && n >= 0
}

func isRecheck(call string) bool { return strings.HasPrefix(call, recheckCall) }
