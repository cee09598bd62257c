package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// rate is how often something was called. Where the fold has forgotten, it is the most that is possible.
type rate struct{ minute, hour, total int64 }

func (r rate) facts(ar *arena) value {
	return ar.record(ar.list([]named{{"hour", number(r.hour)}, {"total", number(r.total)},
		{"minute", number(r.minute)}}))
}

// toolCalls is how often a tool was called, with the calls under way.
func toolCalls(f *perdure.Fold, tool string, t perdure.Time) rate {
	r := forgotten(f, t)
	if rec := recordOf(f, tool); rec != nil {
		r = rate{minute: recent(rec, t.Add(-time.Minute)), hour: recent(rec, t.Add(-time.Hour)), total: rec.Calls}
	}
	return r.plus(underWay(f, tool))
}

// allCalls is how often any tool was called, with the calls under way.
func allCalls(f *perdure.Fold, t perdure.Time) rate {
	r := forgotten(f, t)
	r.total = f.Spent.Calls
	minute, hour := t.Add(-time.Minute), t.Add(-time.Hour)
	for i := range f.Tools {
		if rec := &f.Tools[i]; !advisorRecord(rec.Tool) {
			r.minute, r.hour = r.minute+recent(rec, minute), r.hour+recent(rec, hour)
		}
	}
	return r.plus(underWay(f, ""))
}

func (r rate) plus(n int64) rate { return rate{r.minute + n, r.hour + n, r.total + n} }

// recent counts the signals after a time.
func recent(rec *perdure.ToolRecord, after perdure.Time) int64 {
	n := int64(0)
	for _, s := range rec.Last {
		if s.Time > after {
			n++
		}
	}
	if n >= recordedSignals {
		return max(n, rec.Calls)
	}
	return n
}

// forgotten is how often a tool can have been called of which no record is left: the one not used for longest is
// forgotten first, so it was not used since the last use of the oldest record there is.
func forgotten(f *perdure.Fold, t perdure.Time) rate {
	if len(f.Tools) < recordedTools {
		return rate{}
	}
	oldest := slices.MinFunc(f.Tools, func(a, b perdure.ToolRecord) int { return int(min(max(a.Used-b.Used, -1), 1)) })
	r := rate{total: f.Spent.Calls}
	last := oldest.Last[len(oldest.Last)-1].Time
	if last > t.Add(-time.Minute) {
		r.minute = f.Spent.Calls
	}
	if last > t.Add(-time.Hour) {
		r.hour = f.Spent.Calls
	}
	return r
}

// underWay counts the calls of a tool without an outcome; of all tools if it is "".
func underWay(f *perdure.Fold, tool string) int64 {
	n := int64(0)
	for i := range f.Open {
		if x, ok := f.Open[i].Action.(perdure.Execute); ok && (tool == "" || x.Tool == tool) {
			n++
		}
	}
	return n
}

// latency is how long the last call of a tool that was made took, in microseconds; zero: it is not known.
func latency(f *perdure.Fold, tool string) int64 {
	rec := recordOf(f, tool)
	if rec == nil {
		return 0
	}
	for _, s := range slices.Backward(rec.Last) {
		if s.Signal != perdure.Denied {
			return s.Took
		}
	}
	return 0
}

// failures counts the calls in a row that came to nothing. A refusal is no call.
func failures(f *perdure.Fold, tool string) int64 {
	rec := recordOf(f, tool)
	if rec == nil {
		return 0
	}
	n := int64(0)
	for _, s := range slices.Backward(rec.Last) {
		switch s.Signal {
		case perdure.OK, perdure.Partial:
			return n
		case perdure.Failed, perdure.TimedOut, perdure.Silent, perdure.Throttled, perdure.Incapable:
			n++
		case perdure.Denied:
		}
	}
	if len(rec.Last) >= recordedSignals {
		return max(n, rec.Calls)
	}
	return n
}

func recordOf(f *perdure.Fold, tool string) *perdure.ToolRecord {
	i, found := slices.BinarySearchFunc(f.Tools, tool, func(r perdure.ToolRecord, name string) int {
		return strings.Compare(r.Tool, name)
	})
	if !found {
		return nil
	}
	return &f.Tools[i]
}
