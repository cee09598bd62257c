package simulate

import (
	"bytes"
	"strings"
	"testing"
)

// differ is where two traces differ, with what was before.
func differ(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.Join(x[max(0, i-6):min(i+3, len(x))], "\n") + "\n--- and ---\n" +
				strings.Join(y[max(0, i-2):min(i+3, len(y))], "\n")
		}
	}
	return "one is longer"
}

// TestSameSeedSameTrace runs seeds until two runs of each agree, a few times at most: the Go scheduler may once in a
// while stop a goroutine in the middle and let another go first, which no seed decides.
func TestSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(6) {
		var diff string
		for range 3 {
			var a, b bytes.Buffer
			first := Run(t, Generate(seed, false), Options{Trace: &a})
			second := Run(t, Generate(seed, false), Options{Trace: &b})
			if diff = ""; first.Trace == second.Trace {
				break
			}
			diff = differ(a.String(), b.String())
		}
		if diff != "" {
			t.Errorf("seed %d:\n%s", seed, diff)
		}
	}
}
