package advisor

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/advisor/internal/bound"
	"github.com/perdure/perdure/phase"

	"github.com/perdure/perdure"
)

// expired reports whether an entry is a turn of which nothing is left to show: its body was collected.
func expired(e *perdure.Entry) bool { return e.Kind == perdure.KindAdvice && e.Content() == nil }

// expiredOpening begins a transcript whose earlier turns were collected: with what the fold knows of them, so that what
// was done is not done again.
func expiredOpening(f *perdure.Fold) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Go on. Earlier turns of yours (%d in all so far) have expired and cannot be shown; what they did "+
		"stands. Do not do again what was done.\n", f.Turns)
	for i := range f.Tools {
		t := &f.Tools[i]
		if _, is := phase.AdvisorIn(t.Tool); is || len(t.Last) == 0 {
			continue
		}
		last := &t.Last[len(t.Last)-1]
		fmt.Fprintf(&b, "called so far: %s, %d times, last %s at %s\n", t.Tool, t.Calls, last.Signal, last.Time)
	}
	for i := range f.Proposals {
		for n, act := range f.Proposals[i].Actions {
			if x, ok := act.(perdure.Execute); ok && f.Proposals[i].Decided[n] {
				fmt.Fprintf(&b, "decided last: %s %s\n", x.Tool, bound.Text(dataText(x.Args), shownHard))
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
