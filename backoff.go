package perdure

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Delay is what recorded signals say about trying again.
type Delay struct {
	Until Time   // not before; zero: at once
	Limit int64  // the time to allow the next attempt, in milliseconds; zero: as before
	Why   string // for people

	from Time // when the last of these signals was recorded
}

// ahead reports whether a time on record is so far from now that the clock was wrong when it was written: what waits from then on does not
// wait that long.
func (t Time) ahead(now Time) bool { return t > now.Add(horizon) }

const (
	// firstDelay is the wait after a first signal that time heals; each further one in a row doubles it.
	firstDelay = 2 * time.Second
	// longestDelay is the wait no row of signals exceeds: an agent that looks once in ten minutes is still alive to its people.
	longestDelay = 10 * time.Minute
	// firstIncapable is how long a node that showed it cannot do something is not asked for it again; each further time doubles it.
	firstIncapable = time.Minute
	// longestIncapable is the longest that is: a node put right by its operator is of use again the same day.
	longestIncapable = 6 * time.Hour
	// failuresBeforeAnotherWay is how many failures in a row of one tool, while others work, make another way worth asking for.
	failuresBeforeAnotherWay = 3
)

// Backoff says when a tool may be called again. It is a pure function of recorded signals: throttled honours the time the tool named,
// timed-out and silent wait longer each time and allow more time, incapable moves on to another node at once.
func (f *Fold) Backoff(tool string) Delay {
	t := f.Tool(tool)
	if t == nil || len(t.Last) == 0 {
		return Delay{}
	}
	last := t.Last[len(t.Last)-1]
	row := t.row(last.Signal)
	switch last.Signal {
	case Throttled:
		wait := time.Duration(last.After) * time.Millisecond
		if wait == 0 {
			wait = doubled(row)
		}
		return Delay{Until: last.Time.Add(wait), from: last.Time, Why: fmt.Sprintf("%s throttled", tool)}
	case TimedOut, Silent:
		return Delay{Until: last.Time.Add(doubled(row)), from: last.Time, Why: fmt.Sprintf("%s gave no answer in time, %d in a row", tool, row)}
	case Failed:
		if strings.HasPrefix(tool, advisorTool("")) { // an advisor that fails can only be asked again; a tool that fails is the advisor's matter
			return Delay{Until: last.Time.Add(doubled(row)), from: last.Time, Why: fmt.Sprintf("%s failed, %d in a row", tool, row)}
		}
	case OK, Partial, Incapable, Denied:
	}
	return Delay{}
}

// retryDelay is the Delay of an effect that is owed.
func (f *Fold) retryDelay(w *Owed) Delay {
	d := Delay{Until: w.Since, Why: fmt.Sprintf("%d of %d attempts", w.Attempt, maxAttempts)}
	switch w.Signal {
	case Throttled:
		wait := time.Duration(w.After) * time.Millisecond
		if wait == 0 {
			wait = doubled(int(w.Attempt))
		}
		d.Until, d.Why = w.Since.Add(wait), "throttled; "+d.Why
	case TimedOut, Silent:
		d.Until, d.Why = w.Since.Add(doubled(int(w.Attempt))), "gave no answer in time; "+d.Why
		d.Limit = min(2*w.Limit, longestDelay.Milliseconds()*6)
	case Incapable:
		d.Until, d.Why = 0, "this node could not; another may"
	case OK, Partial, Failed, Denied:
	}
	return d
}

// lapses is when what a node showed it cannot do is worth another try there: its operator may have put it right.
func (i *Incapability) lapses() Time {
	return i.Since.Add(grown(firstIncapable, int(i.Times), longestIncapable))
}

// AnotherWay reports whether a tool keeps failing while others work: a reason to ask the advisor for another way rather than to try again.
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
	i, found := slices.BinarySearchFunc(f.Tools, name, func(t ToolRecord, name string) int { return strings.Compare(t.Tool, name) })
	if !found {
		return nil
	}
	return &f.Tools[i]
}

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
