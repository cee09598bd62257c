package perdure

import (
	"slices"
	"strings"
	"time"
)

// delay is what recorded signals say about trying again.
type delay struct {
	until Time  // not before; zero: at once
	limit int64 // the time to allow the next attempt, in milliseconds; zero: as before
	row   int   // how often in a row it ended so
}

const (
	// firstDelay is the wait after a first signal that time heals; each further one in a row doubles it.
	firstDelay = 2 * time.Second
	// longestDelay is the wait no row of signals exceeds: an agent that looks once in ten minutes is still alive to its
	// people.
	longestDelay = 10 * time.Minute
	// firstIncapable is how long a node that showed it cannot do something is not asked for it again; each further time
	// doubles it.
	firstIncapable = time.Minute
	// longestIncapable is the longest that is: a node put right by its operator is of use again the same day.
	longestIncapable = 6 * time.Hour
	// failuresBeforeAnotherWay is how many failures in a row of one tool, while others work, make another way worth
	// asking for.
	failuresBeforeAnotherWay = 3
)

// backoff says when a tool may be called again. It is a pure function of recorded signals: throttled honours the time
// the tool named, timed-out and silent wait longer each time and allow more time, incapable moves on to another node at
// once.
func (f *Fold) backoff(tool string) delay {
	t := f.Tool(tool)
	if t == nil || len(t.Last) == 0 {
		return delay{}
	}
	last := t.Last[len(t.Last)-1]
	row := t.row(last.Signal)
	switch last.Signal {
	case Throttled:
		wait := time.Duration(last.After) * time.Millisecond
		if wait == 0 {
			wait = doubled(row)
		}
		return delay{until: last.Time.Add(wait), row: row}
	case TimedOut, Silent:
		return delay{until: last.Time.Add(doubled(row)), row: row}
	case Failed:
		// an advisor that fails can only be asked again; a tool that fails is the advisor's matter
		if strings.HasPrefix(tool, advisorTool("")) {
			return delay{until: last.Time.Add(doubled(row)), row: row}
		}
	case OK, Partial, Incapable, Denied:
	}
	return delay{}
}

// freshly reports whether an advisor that did not answer is asked without waiting: a person has said something since,
// or the node was set up since, which may be what was put right. A time that the advisor named itself stands then.
func (f *Fold) freshly(c *Capabilities, r *ToolRecord, t Time) bool {
	last := &r.Last[len(r.Last)-1]
	if last.Signal == Throttled && last.After > 0 {
		return last.Time < f.urged(c, t)
	}
	return last.Time < max(f.urged(c, t), c.Since)
}

// urged is when a person last wanted the agent to go on, as far as that is heard now. A word of a clock that is ahead
// is heard when its time has come: what fails after that is waited for, whatever the clocks say.
func (f *Fold) urged(c *Capabilities, t Time) Time {
	at := c.Urged
	unseen := f.Unseen()
	for i := range unseen {
		if m := &unseen[i]; (m.Name == AnswerEvent || m.Event == f.Edited) && m.Time <= t {
			at = max(at, m.Time)
		}
	}
	return at
}

// retryDelay is the delay of an effect that is owed.
func (f *Fold) retryDelay(w *Owed) delay {
	d := delay{until: w.Since}
	switch w.Signal {
	case Throttled:
		wait := time.Duration(w.After) * time.Millisecond
		if wait == 0 {
			wait = doubled(int(w.Attempt))
		}
		d.until = w.Since.Add(wait)
	case TimedOut, Silent:
		d.until = w.Since.Add(doubled(int(w.Attempt)))
		d.limit = min(2*w.Limit, longestDelay.Milliseconds()*6)
	case Incapable:
		d.until = 0 // another node may at once
	case OK, Partial, Failed, Denied:
	}
	return d
}

// lapses is when what a node showed it cannot do is worth another try there: its operator may have put it right.
func (i *Incapability) lapses() Time {
	return i.Since.Add(grown(firstIncapable, int(i.Times), longestIncapable))
}

// AnotherWay reports whether a tool keeps failing while others work: a reason to ask the advisor for another way rather
// than to try again.
func (f *Fold) AnotherWay(tool string) bool {
	t := f.Tool(tool)
	if t == nil || t.row(Failed) < failuresBeforeAnotherWay {
		return false
	}
	for i := range f.Tools {
		if o := &f.Tools[i]; o.Tool != tool && len(o.Last) > 0 && o.Last[len(o.Last)-1].Signal == OK {
			return true
		}
	}
	return false
}

// Tool is the record of a tool, or nil.
func (f *Fold) Tool(name string) *ToolRecord {
	i, found := slices.BinarySearchFunc(f.Tools, name, func(t ToolRecord, name string) int {
		return strings.Compare(t.Tool, name)
	})
	if !found {
		return nil
	}
	return &f.Tools[i]
}

// lastTime is when the tool was last heard of.
func (t *ToolRecord) lastTime() Time { return t.Last[len(t.Last)-1].Time }

// row counts how often the tool ended with s, without another signal between, up to now.
func (t *ToolRecord) row(s Signal) int {
	n := 0
	for i := len(t.Last) - 1; i >= 0 && t.Last[i].Signal == s; i-- {
		n++
	}
	return n
}

func doubled(row int) time.Duration { return grown(firstDelay, row, longestDelay) }

// grown is d doubled for every further one in a row, up to a longest.
func grown(d time.Duration, row int, longest time.Duration) time.Duration {
	for i := 1; i < row && d < longest; i++ {
		d *= 2
	}
	return min(d, longest)
}
