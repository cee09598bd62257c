//go:build unix

package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// part is one way of hurting the product. A round does it once, from a seed. When a round is sabotaged, the harness
// itself does what a broken product would do, and the round must find it: a part that notices nothing then would notice
// nothing ever.
type part struct {
	name     string
	needs    func() string // says why it cannot be done here; nil or empty: it can
	round    func(r *round)
	sabotage string // what the harness breaks
	tries    int    // within how many rounds that must be noticed; zero: one
}

// parts are all of them.
func parts() []part {
	return slices.Concat(storeParts(), killParts(), clockParts(), nodeParts(), diskParts(), collectParts(),
		arriveParts(), copyParts(), rotParts())
}

// round is one round of a part.
type round struct {
	t         *testing.T
	rng       *rand.Rand
	sabotaged bool
	tally
}

// tally is what rounds came to.
type tally struct {
	rounds, faults, checked int
	lost, doubled, wrong    int
	found                   []string
	skipped                 string
}

// Lost notes that something acknowledged is gone.
func (y *tally) Lost(format string, args ...any) { y.lost++; y.note(format, args...) }

// Doubled notes that something happened twice.
func (y *tally) Doubled(format string, args ...any) { y.doubled++; y.note(format, args...) }

// Wrong notes anything else.
func (y *tally) Wrong(format string, args ...any) { y.wrong++; y.note(format, args...) }

func (y *tally) note(format string, args ...any) {
	y.found = append(y.found, fmt.Sprintf(format, args...))
}

func (y *tally) add(o tally) {
	y.rounds += o.rounds
	y.faults += o.faults
	y.checked += o.checked
	y.lost += o.lost
	y.doubled += o.doubled
	y.wrong += o.wrong
	y.found = append(y.found, o.found...)
}

// must ends the round for something that is wrong with the harness or the machine.
func (r *round) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// one picks one.
func one[T any](r *round, of ...T) T { return of[r.rng.IntN(len(of))] }

// result is a line of the table.
type result struct {
	tally
	noticed string // what was found under sabotage
}

// TestTorture does a round of every part, and goes on for as long as the environment says. The seed of a round is that
// of the run plus the number of the round, and in the name of the test.
func TestTorture(t *testing.T) {
	end := time.Now().Add(duration(t))
	all := parts()
	results := make([]result, len(all))
	var mu sync.Mutex
	for n := uint64(0); n == 0 || time.Now().Before(end); n++ {
		t.Run(fmt.Sprint("seed", seed()+n), func(t *testing.T) {
			for i, p := range all {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					got := p.rehearse(t, seed()+n, n == 0)
					mu.Lock()
					defer mu.Unlock()
					results[i].add(got.tally)
					if n == 0 {
						results[i].noticed, results[i].skipped = got.noticed, got.skipped
					}
				})
			}
		})
	}
	fmt.Print(table(all, results))
}

// rehearse does a round and, if asked to prove itself, sabotaged ones.
func (p part) rehearse(t *testing.T, seed uint64, prove bool) (got result) {
	t.Helper()
	if p.needs != nil {
		if got.skipped = p.needs(); got.skipped != "" {
			t.Skip(got.skipped)
		}
	}
	begun := time.Now()
	got.tally = p.once(t, seed, false)
	for _, f := range got.found {
		t.Errorf("%s (again: PERDURE_TORTURE_SEED=%d go test -run 'TestTorture/seed%d/%s')", f, seed, seed,
			strings.ReplaceAll(p.name, " ", "_"))
	}
	took := time.Since(begun)
	for i := 0; prove && got.noticed == "" && i < max(p.tries, 1); i++ {
		if y := p.once(t, seed+uint64(i), true); len(y.found) > 0 {
			got.noticed = y.found[0]
		}
	}
	if prove && got.noticed == "" {
		t.Errorf("the harness would not notice %s (seed %d)", p.sabotage, seed)
	}
	t.Logf("%v and %v; %d faults, %d checked; with %s: %.300s", took.Round(time.Millisecond),
		(time.Since(begun) - took).Round(time.Millisecond), got.faults, got.checked, p.sabotage, got.noticed)
	return got
}

// once does a round, and gives back the folders it made.
func (p part) once(t *testing.T, seed uint64, sabotaged bool) (y tally) {
	t.Helper()
	t.Run(map[bool]string{false: "plain", true: "sabotaged"}[sabotaged], func(t *testing.T) {
		r := &round{t: t, rng: rand.New(rand.NewPCG(seed, uint64(len(p.name)))), sabotaged: sabotaged,
			tally: tally{rounds: 1}}
		p.round(r)
		y = r.tally
	})
	return y
}

// table is what a run came to.
func table(all []part, results []result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "part\trounds\tfaults\tchecked\tlost\tdoubled\twrong\tsabotage\tnoticed")
	for i, p := range all {
		y := results[i]
		if y.rounds == 0 && y.skipped == "" {
			continue // not asked for
		}
		if y.skipped != "" {
			fmt.Fprintf(w, "%s\tskipped: %s\n", p.name, y.skipped)
			continue
		}
		noticed := map[bool]string{true: "yes", false: "NO"}[y.noticed != ""]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", p.name, y.rounds, y.faults, y.checked, y.lost, y.doubled,
			y.wrong, p.sabotage, noticed)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return b.String()
}

// torturedFor is the variable that says for how long to go on, such as 10m; not set: one round of each part.
const torturedFor = "PERDURE_TORTURE_FOR"

// duration is for how long to go on.
func duration(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv(torturedFor)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("%s: %v", torturedFor, err)
	}
	return d
}

// seed is where everything random comes from.
var seed = sync.OnceValue(func() uint64 {
	if s, err := strconv.ParseUint(os.Getenv("PERDURE_TORTURE_SEED"), 10, 64); err == nil {
		return s
	}
	return rand.Uint64N(1 << 32)
})
