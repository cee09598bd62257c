package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// TestANodeLogsWhatAgentsDo: by their names, and without what they say to tools and hear from them.
func TestANodeLogsWhatAgentsDo(t *testing.T) {
	t.Parallel()
	secret := func(context.Context, perdure.Call) (perdure.Result, error) {
		d, err := perdure.DataOf("a secret result")
		return perdure.Result{Data: d}, err
	}
	look := &tool{spec: perdure.Spec{Name: "look", Effect: perdure.Read}, call: secret}
	args, err := perdure.DataOf(map[string]any{"key": "a secret argument"})
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: "look", Args: args}}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK, Note: "seen"}}
	}), look)
	var log strings.Builder
	n.Log = slog.New(slog.NewTextHandler(&log, nil))
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "scout", Goal: "look"}})
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"msg=decided agent=scout id=" + id.Short() + " action=look",
		"msg=performed agent=scout id=" + id.Short() + " action=look signal=ok", "msg=ended agent=scout",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log has what is the agent's:\n%s", &log)
	}
}

// TestANodeLogsWhatAPersonDenied: that is not performed.
func TestANodeLogsWhatAPersonDenied(t *testing.T) {
	t.Parallel()
	n, _, _, id := asksToPay(t)
	var log strings.Builder
	n.Log = slog.New(slog.NewTextHandler(&log, nil))
	if _, err := n.Deny(t.Context(), id, load(t, n.Store, id).Asks[0].Digest, "no"); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	if got := log.String(); !strings.Contains(got, `action=pay why="refused by a person: no"`) ||
		!strings.Contains(got, "msg=denied") || strings.Contains(got, "performed") {
		t.Errorf("the log is\n%s", got)
	}
}

// TestANodeLogsWhatNobodyAnswered: nobody has denied that.
func TestANodeLogsWhatNobodyAnswered(t *testing.T) {
	t.Parallel()
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: "pay"}}
		}
		return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: time.Hour.Milliseconds()}}}
	}), pay)
	n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
		v := askWrites(a, r, now)
		if v.Answer == perdure.Ask {
			v.Expires = perdure.TimeOf(now)
		}
		return v
	})
	var log strings.Builder
	n.Log = slog.New(slog.NewTextHandler(&log, nil))
	run(t, n, create(t, n, perdure.Genesis{}))
	if got := log.String(); !strings.Contains(got, `msg="not done"`) || !strings.Contains(got, `action=pay why="nobody`) ||
		strings.Contains(got, "msg=denied") {
		t.Errorf("the log is\n%s", got)
	}
}

// TestANodeLogsWhatItLeavesInDoubt, and how that is settled.
func TestANodeLogsWhatItLeavesInDoubt(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			return perdure.Result{}, fmt.Errorf("a secret: %w", perdure.ErrInDoubt)
		}}
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	var log strings.Builder
	n.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "clerk", Goal: "pay"}})
	run(t, n, id)
	want := "agent=clerk id=" + id.Short() + ` action=pay settle="perdure settle ` + id.Short() + " " +
		load(t, store, id).Open[0].Decision.Short() + " "
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) ||
		strings.Contains(got, "secret") {
		t.Errorf("the log is\n%swant one line with %s", got, want)
	}
}

// TestANodeLogsOnceWhatItLacks: an agent that needs another advisor or tool is not passed over in silence, and does not
// fill the log either.
func TestANodeLogsOnceWhatItLacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, new(perdure.MemStore), scripted(nil))
		var log strings.Builder
		n.Log = slog.New(slog.NewTextHandler(&log, nil))
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "scout", Goal: "look", Advisor: "nosuch"}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		for i := range 3 {
			time.Sleep(2 * time.Hour)
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: fmt.Sprint("hello", i)}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := `msg="cannot go on here" agent=` + id.Short() + " needs=advisor:nosuch"
		if got := strings.Count(log.String(), want); got != 1 {
			t.Errorf("%q is in the log %d times, want once:\n%s", want, got, &log)
		}
	})
}

// rottenStore cannot read memories while its why is set.
type rottenStore struct {
	*perdure.MemStore
	why error
}

func (s *rottenStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	if s.why == nil {
		return s.MemStore.Entries(ctx, id, after)
	}
	return func(yield func(perdure.Item, error) bool) { yield(perdure.Item{}, s.why) }
}

// TestADamagedAgentIsLoggedOnce: until something else is wrong with it, and again when it was well in between.
func TestADamagedAgentIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &rottenStore{MemStore: new(perdure.MemStore)}
		n := newNode(t, s, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: time.Minute.Milliseconds()}}}
		}))
		n.CacheSize = -1
		var log strings.Builder
		n.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		create(t, n, perdure.Genesis{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		for i, x := range []struct {
			why  string
			want int
		}{{"a bad sum", 1}, {"a short row", 2}, {"", 2}, {"a short row", 3}} {
			synctest.Wait()
			s.why = nil
			if x.why != "" {
				s.why = errors.New(x.why)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := strings.Count(log.String(), "run agent"); got != x.want {
				t.Errorf("%d: after an hour it is logged %d times, want %d:\n%s", i, got, x.want, &log)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}
