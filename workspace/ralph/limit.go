package ralph

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// limits are words by which commands say that they may not go on for a while.
var limits = regexp.MustCompile(`(?i)usage limit|hit your (?:\w+ )?limit|limit (?:reached|exceeded)|rate[_ -]?limit|` +
	`too many requests|\b429\b|quota (?:exceeded|exhausted)|exceeded your (?:current )?quota|insufficient_quota|` +
	`resource_exhausted|overloaded(?:_error)?\b`)

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
	inTime   = regexp.MustCompile(`(?i)\bin (?:about )?((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|hours?|hrs?|h|` +
		`minutes?|mins?|m|seconds?|secs?|s)\b[ ,]*(?:and )?){1,3})`)
	amount = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*(milliseconds?|ms|h|m|s)`)
	atISO  = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))`)
	atHour = regexp.MustCompile(`(?i)\b(?:resets?|again|until)(?: at)? (\d{1,2})(?::(\d{2}))?\s*(am|pm)` +
		`(?:\s*\(([A-Za-z_/+-]+)\))?`)
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
	for _, find := range []func(string, time.Time) time.Time{unixTime, afterTime, isoTime, inDuration, hourTime} {
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
	m := inTime.FindStringSubmatch(s)
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
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2]) // none is 0
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}
	}
	if hour %= 12; strings.EqualFold(m[3], "pm") {
		hour += 12
	}
	zone := now.Location()
	if z, err := time.LoadLocation(m[4]); m[4] != "" && err == nil {
		zone = z
	}
	there := now.In(zone)
	t := time.Date(there.Year(), there.Month(), there.Day(), hour, minute, 0, 0, zone)
	if !t.After(now) {
		t = t.AddDate(0, 0, 1)
	}
	return t
}
