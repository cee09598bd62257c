package main

import (
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"
)

func benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure what things cost on this machine",
		Long:  `Bench measures parts of Perdure on this machine, each beside the floor it stands on, in the same run.`,
	}
	c.AddCommand(benchCodecCommand(), benchStepsCommand(), benchDurableCommand(), benchResumeCommand(), benchDormantCommand(), benchAppendCommand(), benchCapsuleCommand(), benchTalkCommand(), benchPolicyCommand())
	return c
}

// rounds is how often each figure is taken; the best one counts, as the one least disturbed.
const rounds = 5

// sample is what one operation costs.
type sample struct {
	ns     float64
	allocs float64
}

// measure takes the cost of one call of each function. The functions take turns, so that a disturbance hits all of them; together one
// round of each takes about the time given.
func measure(ctx context.Context, each time.Duration, fs ...func()) ([]sample, error) {
	counts := make([]int, len(fs))
	for i, f := range fs {
		counts[i] = calibrate(each/rounds, f)
	}
	best := make([]sample, len(fs))
	for round := range rounds {
		for i, f := range fs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if s := timed(counts[i], f); round == 0 || s.ns < best[i].ns {
				best[i] = s
			}
		}
	}
	return best, nil
}

// calibrate finds how many calls take about the time given, at least one.
func calibrate(d time.Duration, f func()) int {
	for n := 1; ; n *= 4 {
		s := timed(n, f)
		if took := s.ns * float64(n); took >= float64(d)/8 {
			return max(1, int(float64(d)/s.ns))
		}
	}
}

func timed(n int, f func()) sample {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range n {
		f()
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return sample{
		ns:     max(1, float64(took)) / float64(n),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
	}
}
