package simulate

import (
	"os"
	"testing"
)

func TestOne(t *testing.T) {
	s := Generate(1, false)
	rep := Run(t, s, Options{Trace: os.Stderr})
	for _, v := range rep.Violations {
		t.Error(v)
	}
	t.Log(rep.Steps, rep.Trace, rep.Faults, rep.Checks, rep.Tally)
}
