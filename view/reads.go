package view

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure"
)

// ReadFolder passes lines on, and says in one line what a run of reads was: calls that change nothing and went well.
// What asked for them is folded with them, unless its advisor had something to say.
type ReadFolder struct {
	emit func(Line) error

	held []Line                    // the run so far
	open map[perdure.Hash]struct{} // the decisions in it that have no outcome yet
}

const (
	// MinRun is how many reads are folded: a single one says more by itself.
	MinRun = 2
	// maxRun bounds the lines held.
	maxRun = 8192
)

func NewReadFolder(emit func(Line) error) *ReadFolder {
	return &ReadFolder{emit: emit, open: map[perdure.Hash]struct{}{}}
}

// FoldingReads picks the lines that fit and folds runs of reads among them. A snapshot ends a run, whether it fits or
// not.
func FoldingReads(fits func(Line) bool) Picker {
	return func(emit func(Line) error) (func(Line) error, func() error) {
		r := NewReadFolder(emit)
		add := func(one Line) error {
			if one.Kind == perdure.KindSnapshot {
				if err := r.Flush(); err != nil {
					return err
				}
			}
			if !fits(one) {
				return nil
			}
			return r.Add(one)
		}
		return add, r.Flush
	}
}

// Add takes the next line.
func (r *ReadFolder) Add(one Line) error {
	if len(r.held) >= maxRun {
		if err := r.Flush(); err != nil {
			return err
		}
	}
	switch b := one.Body.(type) {
	case perdure.Advice:
		if !onlyCalls(&b) {
			break
		}
		r.held = append(r.held, one)
		return nil
	case perdure.Decision:
		if b.Verdict.Answer != perdure.Allow || b.Effect != perdure.Read || one.Tool == "" {
			break
		}
		r.held, r.open[one.Entry] = append(r.held, one), struct{}{}
		return nil
	case perdure.Outcome:
		if _, is := r.open[b.Decision]; !is || b.Signal != perdure.OK {
			break
		}
		delete(r.open, b.Decision)
		r.held = append(r.held, one)
		return nil
	}
	if err := r.Flush(); err != nil {
		return err
	}
	return r.emit(one)
}

// onlyCalls reports whether an advice proposes to call tools and says no more.
func onlyCalls(b *perdure.Advice) bool {
	for _, a := range b.Actions {
		if _, is := a.(perdure.Execute); !is {
			return false
		}
	}
	return len(b.Actions) > 0 && b.Signal == 0 && b.Text == "" && b.Summary == ""
}

// Flush ends the run: one line for the reads that came to an end, and those of the rest.
func (r *ReadFolder) Flush() error {
	ended, asked := 0, map[perdure.Hash]int{} // how many of an advice's calls are folded
	for _, one := range r.held {
		switch b := one.Body.(type) {
		case perdure.Decision:
			if _, open := r.open[one.Entry]; !open {
				asked[b.Advice]++
			}
		case perdure.Outcome:
			ended++
		}
	}
	fold := func(one Line) bool {
		switch b := one.Body.(type) {
		case perdure.Advice:
			return asked[one.Entry] == len(b.Actions)
		case perdure.Decision:
			_, open := r.open[one.Entry]
			return !open
		}
		return true
	}
	var run, rest []Line
	for _, one := range r.held {
		if ended >= MinRun && fold(one) {
			run = append(run, one)
		} else {
			rest = append(rest, one)
		}
	}
	r.held = r.held[:0]
	clear(r.open)
	if len(run) > 0 {
		rest = append([]Line{foldedReads(run)}, rest...)
	}
	for _, one := range rest {
		if err := r.emit(one); err != nil {
			return err
		}
	}
	return nil
}

// foldedReads is the one line of a run.
func foldedReads(run []Line) Line {
	var tools []string
	count, total := map[string]int{}, 0
	for _, one := range run {
		if one.Kind != perdure.KindOutcome {
			continue
		}
		if total++; count[one.Tool] == 0 {
			tools = append(tools, one.Tool)
		}
		count[one.Tool]++
	}
	for i, name := range tools {
		tools[i] = fmt.Sprintf("%s x%d", name, count[name])
	}
	return Line{Seq: run[0].Seq, Time: run[0].Time, Signal: perdure.OK, Folded: "reads",
		What: fmt.Sprintf("%d reads: %s (to seq %d)", total, strings.Join(tools, ", "), run[len(run)-1].Seq)}
}
