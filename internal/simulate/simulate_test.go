package simulate

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// budget is how many steps are made: a million in continuous integration, as many as an hour has by `make torture`.
const (
	usualSteps = 1_000_000
	shortSteps = 60_000
)

// diskShare is how many runs there are for each with stores on disk, which take longer.
const diskShare = 40

// figures are what all runs came to.
type figures struct {
	runs, disk, steps     int
	faults, checks, tally map[string]int
}

func (f *figures) add(rep *Report) {
	f.runs++
	f.steps += rep.Steps
	for _, m := range []struct{ sum, of map[string]int }{{f.faults, rep.Faults}, {f.checks, rep.Checks},
		{f.tally, rep.Tally}} {
		for k, n := range m.of {
			m.sum[k] += n
		}
	}
}

// table is the figures, one a line.
func (f *figures) table(w io.Writer) {
	fmt.Fprintf(w, "%-44s %12d\n%-44s %12d\n%-44s %12d\n", "runs", f.runs, "  with stores on disk", f.disk, "steps",
		f.steps)
	for _, part := range []struct {
		name string
		of   map[string]int
	}{{"", f.tally}, {"fault: ", f.faults}, {"checked: ", f.checks}} {
		for _, k := range slices.Sorted(maps.Keys(part.of)) {
			fmt.Fprintf(w, "%-44s %12d\n", part.name+k, part.of[k])
		}
	}
}

// TestSimulate runs scripts from one seed on. PERDURE_SIMULATE_SEED is the first, PERDURE_SIMULATE_FOR for how long,
// instead of so many steps.
func TestSimulate(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("PERDURE_SIMULATE_SEED"), 10, 64)
	most, end := usualSteps, time.Time{}
	if testing.Short() {
		most = shortSteps
	}
	span, _ := time.ParseDuration(os.Getenv("PERDURE_SIMULATE_FOR"))
	if os.Getenv("PERDURE_TORTURE") == "long" {
		span = cmp.Or(span, time.Hour)
		seed = cmp.Or(seed, uint64(time.Now().Unix()))
	}
	if span > 0 {
		end, most = time.Now().Add(span), 1<<62
	}
	f := figures{faults: map[string]int{}, checks: map[string]int{}, tally: map[string]int{}}
	bad := 0
	for ; f.steps < most && (end.IsZero() || time.Now().Before(end)) && bad < 3; seed++ {
		disk := seed%diskShare == diskShare-1
		s := Generate(seed, disk)
		rep := Run(t, s, Options{})
		f.add(rep)
		if disk {
			f.disk++
		}
		if len(rep.Violations) > 0 {
			bad++
			failed(t, s, rep)
		}
	}
	var b strings.Builder
	f.table(&b)
	t.Log("\n" + b.String())
}

// failed prints the shortest script there is that shows what a run has shown.
func failed(t *testing.T, s *Script, rep *Report) {
	t.Helper()
	v := rep.Violations[0]
	s, rep = Shrink(t, s, Options{}, v.Invariant, 120)
	t.Errorf("%s\n\nPERDURE_SIMULATE_SCRIPT=FILE go test -run TestScript ./internal/simulate runs it "+
		"again:\n\n%s\nand the last of it was\n%s",
		cmp.Or(fmt.Sprint(rep.Violations), v.String()), s, strings.Join(rep.Tail, "\n"))
}

// TestScript runs the script in a file again, with all of its steps.
func TestScript(t *testing.T) {
	path := os.Getenv("PERDURE_SIMULATE_SCRIPT")
	if path == "" {
		t.Skip("PERDURE_SIMULATE_SCRIPT names no script")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Run(t, s, Options{Trace: os.Stdout}).Violations {
		t.Error(v)
	}
}

func TestScriptsAreReadAsTheyAreWritten(t *testing.T) {
	s := Generate(7, true)
	got, err := Parse(strings.NewReader(s.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != s.String() {
		t.Errorf("got\n%s\nwant\n%s", got, s)
	}
}

// TestEachSabotageIsNoticed breaks something on purpose: the invariant that is about it must say so, and in few runs.
func TestEachSabotageIsNoticed(t *testing.T) {
	for sabotage, invariants := range map[string][]string{
		"drop":      {"nothing acknowledged is lost"},
		"double":    {"once is once"},
		"forget":    {"due agents are due", "agents that can go on do"},
		"undue":     {"due agents are due"},
		"mute":      {"folds are equal"},
		"overspend": {"spend is within budget"},
		"spin":      {"work is bounded"},
		"deaf":      {"paused agents begin nothing", "paused agents decide nothing"},
		"rekey":     {"an effect has one key"},
	} {
		t.Run(sabotage, func(t *testing.T) {
			var met []string
			for seed := range uint64(60) {
				rep := Run(t, Generate(seed, false), Options{Sabotage: sabotage})
				for _, v := range rep.Violations {
					if slices.Contains(invariants, v.Invariant) {
						return
					}
					met = append(met, v.String())
				}
			}
			t.Errorf("nobody noticed: %s", strings.Join(met[:min(len(met), 5)], "\n"))
		})
	}
}

func TestAScriptIsShrunk(t *testing.T) {
	for seed := range uint64(60) {
		s, o := Generate(seed, false), Options{Sabotage: "double"}
		rep := Run(t, s, o)
		if len(rep.Violations) == 0 || rep.Violations[0].Invariant != "once is once" {
			continue
		}
		short, rep := Shrink(t, s, o, "once is once", 80)
		if len(rep.Violations) == 0 || rep.Violations[0].Invariant != "once is once" {
			t.Errorf("the shrunk script shows %v", rep.Violations)
		}
		if len(short.Ops) > 4 {
			t.Errorf("%d operations are left of %d:\n%s", len(short.Ops), len(s.Ops), short)
		}
		return
	}
	t.Error("no script pays")
}
