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
			return strings.Join(x[max(0, i-6):min(i+3, len(x))], "\n") + "\n--- and ---\n" + strings.Join(y[max(0, i-2):min(i+3, len(y))], "\n")
		}
	}
	return "one is longer"
}

func TestSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(6) {
		var a, b bytes.Buffer
		first := Run(t, Generate(seed, false), Options{Trace: &a})
		second := Run(t, Generate(seed, false), Options{Trace: &b})
		if first.Trace != second.Trace {
			t.Errorf("seed %d: %d and %d steps:\n%s", seed, first.Steps, second.Steps, differ(a.String(), b.String()))
		}
	}
}
