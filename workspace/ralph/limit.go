package ralph

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// limits are words by which commands say that they may not go on for a while.
var limits = regexp.MustCompile(`(?i)usage limit|hit your (?:\w+ )?limit|limit (?:reached|exceeded)|rate[_ -]?limit|` +
	`too many requests|\b429\b|\berror:? 529\b|quota (?:exceeded|exhausted|will reset)|` +
	`exceeded your (?:current )?quota|insufficient_quota|resource_exhausted|overloaded(?:_error)?\b`)

// reports are words by which a line is known that speaks of a test, or of a place in a program.
var reports = regexp.MustCompile(`^\s*(?:---|===|not ok\b|[✓✗✘✕×●]|E\s{2}|at )|\bFAIL(?:ED)?\b|` +
	`\bPASS(?:ED)?\b|Assertion|panicked|\btest[_ ]\w|_test\b|\bTest[A-Z]|\w\.\w+:\d+`)

// lastLines is how many lines of an output, at its end, can say why a command ended.
const lastLines = 20

// maxWaits is for how many limits in a row one task may wait: with waits that grow to an hour, about three hours.
const maxWaits = 8

// told is where an output says that a limit was met; -1: nowhere.
func told(output string) int {
	end, at := len(output), -1
	for n := 0; n < lastLines && end > 0; end-- {
		begin := strings.LastIndexByte(output[:end], '\n') + 1
		line := output[begin:end]
		if place := limits.FindStringIndex(line); place != nil && !reports.MatchString(line) {
			at = begin + place[0]
		}
		if strings.TrimSpace(line) != "" {
			n++
		}
		end = begin
	}
	return at
}

// Times until which they may not.
var (
	atUnix   = regexp.MustCompile(`\|\s*(\d{10})\b`)
	afterNum = regexp.MustCompile(`(?i)retry[- ]after["']?\s*[:=]?\s*["']?(\d{1,7})(?:\s*(ms|milliseconds))?\b`)
	inTime   = regexp.MustCompile(`(?i)\b(?:in|reset after) (?:about )?((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|` +
		`hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b[ ,]*(?:and )?){1,3})`)
	joined = regexp.MustCompile(`(\d[hm])(\d)`) // as in 3h20m5s
	amount = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*(milliseconds?|ms|h|m|s)`)
	atISO  = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))`)
	atHour = regexp.MustCompile(`(?i)\b(?:resets?|again|until)(?: at)? (\d{1,2})(?::(\d{2}))?\s*(am|pm)` +
		`(?:\s*\(([A-Za-z_/+-]+)\))?`)
	atDay = regexp.MustCompile(`(?i)\b(?:resets?|again|until)(?: at| on)? (?:([a-z]{3})[a-z]*\.? (\d{1,2})|` +
		`(\d{1,2}) ([a-z]{3})[a-z]*\.?)(?:st|nd|rd|th)?\b(?:,? (20\d\d)\b)?` +
		`(?:,?(?: at)? (\d{1,2})(?::(\d\d))?\s*([ap]m|\b))?(?:\s*\(([A-Za-z_/+-]+)\))?`)
)

// maxLimit is the longest that a limit is believed to last.
const maxLimit = 8 * 24 * time.Hour

// Limited reports whether the end of an output says that a limit was met, and until when; zero: it does not say.
func Limited(output string, now time.Time) (until time.Time, ok bool) {
	place := told(output)
	if place < 0 {
		return time.Time{}, false
	}
	output = output[max(0, place-200):]
	for _, find := range []func(string, time.Time) time.Time{unixTime, afterTime, isoTime, dayTime, inDuration,
		hourTime} {
		if t := find(output, now); t.After(now) && t.Sub(now) <= maxLimit {
			return t, true
		}
	}
	return time.Time{}, true
}

func unixTime(s string, _ time.Time) time.Time {
	m := atUnix.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // ten digits fit
	return time.Unix(n, 0)
}

func afterTime(s string, now time.Time) time.Time {
	m := afterNum.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}
	}
	n, _ := strconv.Atoi(m[1]) // seven digits fit
	if m[2] != "" {
		return now.Add(time.Duration(n) * time.Millisecond)
	}
	return now.Add(time.Duration(n) * time.Second)
}

func isoTime(s string, _ time.Time) time.Time {
	m := atISO.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339, strings.Replace(m[1], " ", "T", 1)) // else the zero time, which has passed
	return t
}

func inDuration(s string, now time.Time) time.Time {
	m := inTime.FindStringSubmatch(joined.ReplaceAllString(s, "$1 $2"))
	if m == nil {
		return time.Time{}
	}
	var sum time.Duration
	for _, a := range amount.FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseFloat(a[1], 64)
		if err != nil || n > 1e6 {
			return time.Time{}
		}
		unit := map[string]time.Duration{"h": time.Hour, "m": time.Minute, "s": time.Second}[strings.ToLower(a[2])]
		if unit == 0 {
			unit = time.Millisecond
		}
		sum += time.Duration(n * float64(unit))
	}
	return now.Add(sum)
}

// hourTime is the next time a clock shows an hour: resets 3pm (Europe/Berlin).
func hourTime(s string, now time.Time) time.Time {
	m := atHour.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}
	}
	clock, ok := ofDay(m[1], m[2], m[3])
	if !ok {
		return time.Time{}
	}
	there := now.In(zoneOf(m[4], now))
	t := onDay(there.Year(), there.Month(), there.Day(), clock, there.Location())
	if !t.After(now) {
		t = onDay(there.Year(), there.Month(), there.Day()+1, clock, there.Location())
	}
	return t
}

// dayTime is a time on a day: resets Mar 4 at 3pm (Europe/Berlin), try again at Mar 4th, 2026 3:05 PM.
func dayTime(s string, now time.Time) time.Time {
	m := atDay.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}
	}
	clock, ok := ofDay(cmp.Or(m[6], "0"), m[7], m[8])
	month, err := time.Parse("Jan 2", strings.ToUpper(m[1] + m[4])[:1]+strings.ToLower(m[1] + m[4])[1:]+" "+m[2]+m[3])
	if err != nil || !ok {
		return time.Time{}
	}
	there := now.In(zoneOf(m[9], now))
	year := there.Year()
	if m[5] != "" {
		year, _ = strconv.Atoi(m[5]) // four digits fit
	} else if month.Month() < there.Month() {
		year++ // in December, of January
	}
	return onDay(year, month.Month(), month.Day(), clock, there.Location())
}

// ofDay is how far into a day a clock shows an hour, of 24 or, with am or pm, of 12.
func ofDay(hour, minute, half string) (time.Duration, bool) {
	h, _ := strconv.Atoi(hour)   // two digits fit
	m, _ := strconv.Atoi(minute) // none is 0
	if half != "" {
		if h < 1 || h > 12 {
			return 0, false
		}
		if h %= 12; strings.EqualFold(half, "pm") {
			h += 12
		}
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute, h < 24 && m < 60
}

// onDay is when the clocks of a place show a time, also on a day that is not of 24 hours.
func onDay(year int, month time.Month, day int, clock time.Duration, place *time.Location) time.Time {
	return time.Date(year, month, day, int(clock/time.Hour), int(clock%time.Hour/time.Minute), 0, 0, place)
}

// zoneOf is the zone of a name, or that of this machine.
func zoneOf(name string, now time.Time) *time.Location {
	if zone, err := time.LoadLocation(name); name != "" && err == nil {
		return zone
	}
	return now.Location()
}
