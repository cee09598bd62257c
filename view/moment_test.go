package view_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/view"
)

func TestASpanIsNotRoundedDownToItsLargestUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:               "0s",
		59 * time.Second:           "59s",
		time.Minute:                "1m",
		200 * time.Second:          "3m20s",
		17*time.Minute + 31e9:      "18m",
		time.Hour - time.Second:    "1h",
		119 * time.Minute:          "1h59m",
		47*time.Hour + 59*60e9:     "47h59m",
		53 * time.Hour:             "2d5h",
		9*24*time.Hour + 23*3600e9: "9d23h",
		30*24*time.Hour + 3600e9:   "30d",
	} {
		if got := view.Span(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
