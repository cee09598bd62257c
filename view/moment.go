package view

import (
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Moment is a time as people say it, with how far off it is: 14:05 UTC (in 3m), or 2026-11-22 14:05 UTC (in 7d).
func Moment(t perdure.Time, now time.Time) string {
	at := t.Go().In(now.Location())
	layout := "15:04 MST"
	switch off := at.Sub(now).Abs(); {
	case off < 10*time.Minute:
		layout = "15:04:05 MST"
	case at.Format(time.DateOnly) != now.Format(time.DateOnly) && off > 12*time.Hour:
		layout = "2006-01-02 15:04 MST"
	}
	if !at.After(now) {
		return at.Format(layout) + " (" + Ago(t, now) + ")"
	}
	return at.Format(layout) + " (in " + Span(at.Sub(now)) + ")"
}

// Times says how often.
func Times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// Ago is how long ago a time was, for people.
func Ago(t perdure.Time, now time.Time) string {
	if t == 0 {
		return "never"
	}
	return Span(now.Sub(t.Go())) + " ago"
}

// Span is a duration in its largest unit, and in the next one where that says more: 45s, 3m20s, 17m, 1h59m, 2d5h, 30d.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute:
		return twoUnits(d, time.Minute, time.Second, "m", "s")
	case d.Round(time.Minute) < time.Hour:
		return fmt.Sprintf("%dm", d.Round(time.Minute)/time.Minute)
	case d.Round(time.Minute) < 2*day:
		return twoUnits(d.Round(time.Minute), time.Hour, time.Minute, "h", "m")
	case d < 10*day:
		return twoUnits(d.Round(time.Hour), day, time.Hour, "d", "h")
	}
	return fmt.Sprintf("%dd", d.Round(day)/day)
}

// twoUnits is a duration in two units, or in the larger one if nothing is left.
func twoUnits(d, large, small time.Duration, one, other string) string {
	text := fmt.Sprintf("%d%s", d/large, one)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, other)
	}
	return text
}
