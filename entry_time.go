package perdure

import "time"

// Time is milliseconds since 1970 in UTC; zero means none. It is what an author's clock said, and is never used to
// order entries.
type Time int64

// TimeOf converts t, cutting it to milliseconds. The zero time.Time is none.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Go returns t as a time.Time in UTC; none is the zero time.Time.
func (t Time) Go() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// String is RFC 3339 with milliseconds, or "never" for none.
func (t Time) String() string {
	if t == 0 {
		return "never"
	}
	return t.Go().Format("2006-01-02T15:04:05.000Z")
}

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d/time.Millisecond) }

// earliest returns the earlier of two times, none being later than all.
func earliest(a, b Time) Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
