package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// readingAgent is an agent that has called tools, read and written, and has snapshots on the way.
func readingAgent(t *testing.T, turns int) (perdure.Store, perdure.AgentID) {
	t.Helper()
	look := perdure.Execute{Tool: "look"}
	var actions []perdure.Action
	for i := range turns {
		if actions = append(actions, look); i%7 == 3 {
			actions = append(actions, perdure.Execute{Tool: "keep"})
		}
	}
	s := newSituation(t, append(actions, perdure.End{Signal: perdure.OK})...)
	s.node.SnapshotEvery = 8
	s.node.Tools = []perdure.Tool{ends("look", perdure.Read, perdure.Result{}, nil),
		ends("keep", perdure.Idempotent, perdure.Result{}, nil)}
	s.run()
	return s.node.Store, s.agent
}

// allLines is the log of an agent, whole.
func allLines(t *testing.T, s perdure.Store, id perdure.AgentID) []view.Line {
	t.Helper()
	var all []view.Line
	if err := view.Follow(s, id).Next(t.Context(), func(one view.Line) error {
		all = append(all, one)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// texts are lines as people read them, without what only the program uses.
func texts(lines []view.Line) []string {
	var out []string
	for _, one := range lines {
		out = append(out, term.Line(one, term.Style{}))
	}
	return out
}

func TestRecentLinesAreTheLastOfTheLog(t *testing.T) {
	s, id := readingAgent(t, 30)
	all := allLines(t, s, id)
	snapshots := 0
	for range s.Snapshots(t.Context(), id) {
		snapshots++
	}
	if snapshots < 3 {
		t.Fatalf("got %d snapshots, want several to read back over", snapshots)
	}
	for n := range len(all) + 2 {
		w, last, err := view.FollowRecent(t.Context(), s, id, n, view.Fitting(func(view.Line) bool { return true }))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(all[max(0, len(all)-n):]), texts(last)); diff != "" {
			t.Fatalf("last %d (-want +got):\n%s", n, diff)
		}
		if err := w.Next(t.Context(), func(one view.Line) error {
			return fmt.Errorf("there is more: %s", one.What)
		}); err != nil {
			t.Fatal(err)
		}
	}
	outcome := func(one view.Line) bool { return one.Kind == perdure.KindOutcome && one.Tool == "keep" }
	_, last, err := view.FollowRecent(t.Context(), s, id, 3, view.Fitting(outcome))
	if err != nil || len(last) != 3 {
		t.Errorf("got %d outcomes of keep (%v), want 3", len(last), err)
	}
}

// A snapshot between a proposal, its decision and its outcome does not make anybody forget what they are about.
func TestLinesAfterASnapshotSayWhatTheyAreAbout(t *testing.T) {
	s := newSituation(t)
	a, err := s.node.Create(t.Context(), s.genes)
	if err != nil {
		t.Fatal(err)
	}
	write := func(body perdure.Body) perdure.Hash {
		var entries []*perdure.Entry
		if entries, a, err = s.node.Key.Commit(a, time.Now(), perdure.Draft{Body: body}); err == nil {
			err = s.node.Store.Put(t.Context(), a.ID(), entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		return entries[0].Name
	}
	advice := write(perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "look"}}})
	write(perdure.Snapshot{Fold: *a.Fold()})
	decision := write(perdure.Decision{Advice: advice, Verdict: perdure.Verdict{Answer: perdure.Allow},
		Effect: perdure.Read, Deadline: perdure.TimeOf(time.Now().Add(time.Hour))})
	write(perdure.Snapshot{Fold: *a.Fold()})
	write(perdure.Outcome{Decision: decision, Signal: perdure.OK})
	all := allLines(t, s.node.Store, a.ID())
	for n := range len(all) {
		_, last, err := view.FollowRecent(t.Context(), s.node.Store, a.ID(), n, view.Fitting(func(view.Line) bool {
			return true
		}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(all[len(all)-n:]), texts(last)); diff != "" {
			t.Errorf("last %d (-want +got):\n%s", n, diff)
		}
	}
	if got, want := all[len(all)-1].What, "look"; got != want {
		t.Errorf("the outcome: got %q, want %q", got, want)
	}
}

func TestFollowingBehindAnEntryShowsWhatCameAfterIt(t *testing.T) {
	s, id := readingAgent(t, 30)
	all := allLines(t, s, id)
	for i := range all {
		w, err := view.FollowAfter(t.Context(), s, id, []perdure.Hash{all[i].Entry})
		if err != nil {
			t.Fatal(err)
		}
		var got []view.Line
		if err := w.Next(t.Context(), func(one view.Line) error { got = append(got, one); return nil }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(all[i+1:]), texts(got)); diff != "" {
			t.Fatalf("after entry %d (-want +got):\n%s", i, diff)
		}
	}
}

// Whatever is in a memory, folding reads leaves every other line as it is and counts every read it folds once.
func TestFoldedReadsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []view.Line
		var reads int
		name := func() (h perdure.Hash) { h[0], h[1] = byte(len(all)), byte(len(all)>>8); return h }
		type call struct {
			entry perdure.Hash
			read  bool
		}
		var open []call
		for range rapid.IntRange(0, 60).Draw(t, "entries") {
			one := view.Line{Seq: int64(len(all)), Entry: name(), Tool: "tool"}
			switch rapid.SampledFrom([]string{"advice", "talk", "read", "write", "ok", "failed", "event"}).
				Draw(t, "entry") {
			case "advice":
				one.Tool, one.Kind, one.Body = "", perdure.KindAdvice,
					perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "tool"}}}
			case "talk":
				one.Tool, one.Kind, one.Body = "", perdure.KindAdvice,
					perdure.Advice{Text: "hm", Actions: []perdure.Action{perdure.Execute{Tool: "tool"}}}
			case "read":
				one.Kind, one.Body = perdure.KindDecision,
					perdure.Decision{Verdict: perdure.Verdict{Answer: perdure.Allow}, Effect: perdure.Read}
				open = append(open, call{one.Entry, true})
			case "write":
				one.Kind, one.Body = perdure.KindDecision,
					perdure.Decision{Verdict: perdure.Verdict{Answer: perdure.Allow}, Effect: perdure.Once}
				open = append(open, call{one.Entry, false})
			case "ok", "failed":
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "of")
				signal := rapid.SampledFrom([]perdure.Signal{perdure.OK, perdure.OK, perdure.Failed}).Draw(t, "signal")
				one.Kind, one.Signal, one.Body = perdure.KindOutcome, signal,
					perdure.Outcome{Decision: open[i].entry, Signal: signal}
				if open[i].read && signal == perdure.OK {
					reads++
				}
				open = slices.Delete(open, i, i+1)
			case "event":
				one.Tool, one.Kind, one.Body = "", perdure.KindEvent, perdure.Event{Name: "e"}
			}
			all = append(all, one)
		}
		var shown []view.Line
		f := view.NewReadFolder(func(one view.Line) error { shown = append(shown, one); return nil })
		for _, one := range all {
			if err := f.Add(one); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		counted := 0
		for _, one := range shown {
			b, is := one.Body.(perdure.Outcome)
			switch {
			case one.Folded != "":
				var n int
				if _, err := fmt.Sscanf(one.What, "%d reads:", &n); err != nil || n < view.MinRun ||
					!strings.Contains(one.What, fmt.Sprintf("tool x%d", n)) {
					t.Errorf("a folded line says %q", one.What)
				}
				counted += n
			case is && b.Signal == perdure.OK && slices.ContainsFunc(all, func(d view.Line) bool {
				dec, ok := d.Body.(perdure.Decision)
				return ok && d.Entry == b.Decision && dec.Effect == perdure.Read
			}):
				counted++
			}
		}
		if counted != reads {
			t.Errorf("%d reads are shown or counted, of %d", counted, reads)
		}
		for _, one := range all {
			_, isEvent := one.Body.(perdure.Event)
			b, isAdvice := one.Body.(perdure.Advice)
			d, isDecision := one.Body.(perdure.Decision)
			must := isEvent || isAdvice && b.Text != "" || isDecision && d.Effect == perdure.Once ||
				one.Signal == perdure.Failed
			if must && !slices.ContainsFunc(shown, func(s view.Line) bool {
				return s.Entry == one.Entry && s.Folded == ""
			}) {
				t.Errorf("line %d is gone", one.Seq)
			}
		}
	})
}

func TestALineIsSeenOnceWhoeverWritesIt(t *testing.T) {
	s := newSituation(t, perdure.Sleep{Trigger: perdure.On{Event: "go"}}, perdure.End{Signal: perdure.OK})
	s.run()
	w, _, err := view.FollowRecent(t.Context(), s.node.Store, s.agent, 0, view.Fitting(func(view.Line) bool {
		return true
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if _, err := s.node.Tell(ctx, s.agent, perdure.Event{Name: "go"}); err != nil {
		t.Fatal(err)
	}
	s.run()
	var got []string
	one := []*view.Follower{w}
	if err := view.Live(ctx, s.node.Store, new(home.Home).Ended, one, func(_ *view.Follower, one view.Line) error {
		got = append(got, one.Kind.String())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"event", "decision", "advice", "decision"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// tallied is a store that counts the entries it yields.
type tallied struct {
	perdure.Store
	entries int
}

func (s *tallied) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.Store.Entries(ctx, id, after) {
			if s.entries++; !yield(item, err) {
				return
			}
		}
	}
}

// TestRecentLinesAreReadFromTheEnd: what is printed last costs what lies near the end, folded or not, and what is
// nowhere costs the memory once.
func TestRecentLinesAreReadFromTheEnd(t *testing.T) {
	store, id := readingAgent(t, 60)
	all := len(allLines(t, store, id))
	every := func(view.Line) bool { return true }
	var folded []view.Line
	add, flush := view.FoldingReads(every)(func(one view.Line) error { folded = append(folded, one); return nil })
	if err := errors.Join(view.Follow(store, id).Next(t.Context(), add), flush()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(folded); n++ {
		s := &tallied{Store: store}
		_, last, err := view.FollowRecent(t.Context(), s, id, n, view.FoldingReads(every))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(folded[len(folded)-n:]), texts(last)); diff != "" {
			t.Fatalf("last %d (-want +got):\n%s", n, diff)
		}
		if n < 3 && s.entries > all/4 {
			t.Errorf("the last %d of %d lines took %d of %d entries", n, len(folded), s.entries, all)
		}
	}
	s, snapshots := &tallied{Store: store}, 0
	for range store.Snapshots(t.Context(), id) {
		snapshots++
	}
	if _, _, err := view.FollowRecent(t.Context(), s, id, 1, view.Fitting(func(view.Line) bool {
		return false
	})); err != nil || s.entries > all+2*snapshots { // each is looked at on both sides
		t.Errorf("looking for nothing took %d entries of %d (%v)", s.entries, all, err)
	}
}
