package bench

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

// rounds is how often each figure is taken; the best one counts, as the one least disturbed.
const rounds = 5

// sample is what one operation costs.
type sample struct {
	ns     float64
	allocs float64
}

// measure takes the cost of one call of each function. The functions take turns, so that a disturbance hits all of
// them; together one round of each takes about the time given.
func measure(ctx context.Context, each time.Duration, fs ...func()) ([]sample, error) {
	counts := make([]int, len(fs))
	for i, f := range fs {
		counts[i] = calibrate(each/rounds, f)
	}
	best := make([]sample, len(fs))
	for round := range rounds {
		for i, f := range fs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if s := timed(counts[i], f); round == 0 || s.ns < best[i].ns {
				best[i] = s
			}
		}
	}
	return best, nil
}

// calibrate finds how many calls take about the time given, at least one.
func calibrate(d time.Duration, f func()) int {
	for n := 1; ; n *= 4 {
		s := timed(n, f)
		if took := s.ns * float64(n); took >= float64(d)/8 {
			return max(1, int(float64(d)/s.ns))
		}
	}
}

func timed(n int, f func()) sample {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range n {
		f()
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return sample{
		ns:     max(1, float64(took)) / float64(n),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
	}
}

// Figure is one operation measured, and the floors beside it.
type Figure struct {
	Operation string   `json:"operation"`
	Measures  string   `json:"measures"` // what is and is not included
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"` // ns, GB/s or bytes
	Allocs    *float64 `json:"allocs,omitempty"`
	Target    string   `json:"target,omitempty"`
	Floors    []Floor  `json:"floors,omitempty"`
}

// Floor is something a figure is judged by.
type Floor struct {
	Name   string   `json:"name"`
	Value  float64  `json:"value"`
	Allocs *float64 `json:"allocs,omitempty"`
	Ratio  float64  `json:"ratio"` // how many times as costly the figure is
}

// timing makes a figure of samples: the operation's own and then those of its floors, by name.
func timing(operation, measures, target string, samples []sample, floors ...string) Figure {
	f := Figure{Operation: operation, Measures: measures, Value: samples[0].ns, Unit: "ns", Allocs: &samples[0].allocs,
		Target: target}
	for i, name := range floors {
		s := samples[i+1]
		f.Floors = append(f.Floors, Floor{Name: name, Value: s.ns, Allocs: &s.allocs, Ratio: samples[0].ns / s.ns})
	}
	return f
}

// figureTable is figures with their floors below them, and what each includes.
func figureTable(figures []Figure) Table {
	t := Table{Head: []string{"operation", "measured", "allocs", "ratio", "target"}}
	for _, f := range figures {
		t.add(f.Operation, amount(f.Value, f.Unit), count(f.Allocs), "", f.Target)
		for _, l := range f.Floors {
			t.add("  "+l.Name, amount(l.Value, f.Unit), count(l.Allocs), fmt.Sprintf("%.2f", l.Ratio), "")
		}
		t.note("%s: %s.", f.Operation, f.Measures)
	}
	return t
}

// amount is a value in the unit people read it in.
func amount(v float64, unit string) string {
	switch {
	case unit == "GB/s":
		return fmt.Sprintf("%.2f GB/s", v)
	case unit == "bytes":
		return fmt.Sprintf("%.0f bytes", v)
	case v < 1e3:
		return fmt.Sprintf("%.0f ns", v)
	case v < 1e6:
		return fmt.Sprintf("%.2f µs", v/1e3)
	case v < 1e9:
		return fmt.Sprintf("%.1f ms", v/1e6)
	}
	return fmt.Sprintf("%.2f s", v/1e9)
}

// count is a number of allocations, rounded: the runtime itself makes a few now and then.
func count(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', 0, 64)
}
