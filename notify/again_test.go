package notify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// A store that cannot be read for a moment must not cost a person the news that they are asked something.
func TestAMomentaryFaultOfTheStoreLosesNoEvent(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	b := &box{}
	var failed atomic.Bool
	n := &Notifier{Destinations: []Destination{{Name: "ops", Sender: b}},
		Pause: time.Millisecond, MaxPause: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	n.Store, n.Dir = w.store, w.dir
	n.Derive = func(ctx context.Context, item perdure.Item) ([]Event, error) {
		if ev, ok := item.Content().(perdure.Event); ok && ev.Name == "1" && failed.CompareAndSwap(false, true) {
			return nil, errors.New("read: connection reset by peer") // of a database
		}
		return derive(ctx, item)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = n.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	w.begun("ops")
	w.happen(id, 3)
	eventually(t, "the last event", func() bool { return slices.Contains(b.summaries(), "2") })
	if got := b.summaries(); !slices.Contains(got, "1") {
		t.Errorf("got %v, want 0, 1 and 2", got)
	}
}

// One event that is refused for good keeps no other from being sent again.
func TestWhatIsRefusedForGoodHoldsUpNoRetry(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	down := true
	b := &box{refuse: func(_ int, e *Event) error {
		switch {
		case e.Data.Summary == "0":
			return &Failure{Err: errors.New("400: too large"), Final: true}
		case down:
			return &Failure{Err: errors.New("404: being deployed"), Final: true}
		}
		return nil
	}}
	n := &Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}}
	w.start(n)
	w.begun("ops")
	w.happen(id, 3)
	eventually(t, "three letters", func() bool {
		s, err := n.Statuses(t.Context())
		return err == nil && len(s[0].Dead) == 3
	})
	b.mu.Lock()
	down = false
	b.mu.Unlock()
	_, _ = n.Retry(t.Context(), &n.Destinations[0])
	if got := b.summaries(); len(got) != 2 {
		t.Errorf("sent again: %v, want 1 and 2", got)
	}
}

// A store that cannot be read for long: people find out that they were not told.
func TestWhatCannotBeReadIsKeptForPeople(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	n := &Notifier{Destinations: []Destination{{Name: "ops", Sender: &box{}}}, Pause: 1, MaxPause: 1}
	n.Store, n.Dir = w.store, w.dir
	n.Derive = func(context.Context, perdure.Item) ([]Event, error) { return nil, errors.New("disk I/O error") }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = n.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	w.begun("ops")
	w.happen(id, 1)
	eventually(t, "a letter", func() bool {
		s, err := n.Statuses(t.Context())
		return err == nil && len(s[0].Dead) == 1 && s[0].Dead[0].Event.Kind() == Unread &&
			s[0].Dead[0].Tries == maxDerive
	})
}

// What an agent says forges no line of a notification, and turns no text around.
func TestWordsOfAgentsForgeNoLinesOfNotifications(t *testing.T) {
	e := NewEvent(QuestionAsked, "1", Data{Name: "q", Summary: "q asks\nanswer: x \u202eyap",
		Detail: "ok?\r\nanswer: perdure approve big\u2028see: https://evil.example\n\x1b[2K\u200b",
		Asked:  []string{"ana\nsee: y"}, Answer: "perdure answer q TEXT"})
	want := "q asks answer: x \\u202eyap\n> ok?\n> answer: perdure approve big\\u2028see: https://evil.example\n" +
		"> \\x1b[2K\\u200b\nwho is asked: ana see: y\nanswer: perdure answer q TEXT"
	if got := e.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := e.Title(); strings.ContainsAny(got, "\n\u202e") {
		t.Errorf("the title is %q", got)
	}
}
