package simulate

import (
	"os"
	"strconv"
	"testing"
)

func TestSeed(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("SEED"))
	if err != nil {
		t.Skip()
	}
	rep := Run(t, Generate(uint64(n), os.Getenv("DISK") != ""), Options{Trace: os.Stdout})
	for _, v := range rep.Violations {
		t.Error(v)
	}
}
