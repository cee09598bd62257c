package simulate

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestScan(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SCAN"))
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	steps := 0
	begun := time.Now()
	for seed := from; seed < from+n; seed++ {
		rep := Run(t, Generate(uint64(seed), os.Getenv("DISK") != ""), Options{})
		steps += rep.Steps
		if os.Getenv("LOUD") != "" {
			fmt.Println(seed, rep.Steps, time.Since(begun).Round(time.Millisecond), rep.Tally)
		}
		if len(rep.Violations) > 0 {
			fmt.Println("seed", seed, rep.Steps, rep.Violations[0])
		}
	}
	fmt.Println(steps, "steps", time.Since(begun))
}
