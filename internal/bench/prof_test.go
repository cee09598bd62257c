package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

func TestProf(t *testing.T) {
	n := 4000
	for round := range 3 {
		for _, what := range []string{"steps", "idem", "durable"} {
			if w := os.Getenv("WHAT"); w != "" && w != what {
				continue
			}
			dir := t.TempDir()
			open := func(ctx context.Context) (perdure.Store, error) {
				if os.Getenv("MEM") != "" {
					return new(perdure.MemStore), nil
				}
				return sqlite.Open(ctx, filepath.Join(dir, "s.db"), sqlite.Options{})
			}
			var f *Figures
			var err error
			switch what {
			case "steps":
				f, err = Steps{Agents: 1, Steps: n, Payload: 1024, Effect: perdure.Read}.Run(t.Context(), open)
			case "idem":
				f, err = Steps{Agents: 1, Steps: n, Payload: 1024, Effect: perdure.Idempotent}.Run(t.Context(), open)
			default:
				f, err = Durable{Agents: 1, Steps: n, Payload: 1024}.Run(t.Context(), open)
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%d %-8s %6.0f/s p50 %.3f p99 %.3f cpu %.1f rss %.0f\n", round, what, f.PerSecond, f.P50, f.P99, f.CPU, f.RSS)
		}
	}
}
