package home_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// heard is an advisor that counts what it is shown, and ends its agent when that is all.
type heard map[string]int

func (h heard) Advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	for _, m := range a.Fold().Inbox {
		h[m.Name]++
	}
	if len(a.Fold().Inbox) == 0 {
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
	}
	return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: perdure.After{}}}}, nil
}

func letAll(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
	return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
}

// tell800 tells an agent of a home 800 things.
func tell800(t *testing.T, h *home.Home, id perdure.AgentID, name string) {
	t.Helper()
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		for i := 0; i < 800 && err == nil; i++ {
			_, err = n.Tell(ctx, id, perdure.Event{Name: fmt.Sprint(name, i)})
		}
		return err
	})
}

// A copy of a home was told 800 things, and the home 800 others. Once the copy's are imported, the agent has not seen
// 1,600, more than an inbox holds: they are shown as unseen, and its advisor sees each of them once.
func TestWhatACopyWasToldIsSeenOnceItIsImported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.agent")
	one, two := &home.Home{URL: filepath.Join(dir, "one")}, &home.Home{URL: filepath.Join(dir, "two")}
	var id perdure.AgentID
	within(t, one, func(ctx context.Context, s perdure.Store) error {
		id = agentIn(ctx, t, one, s, "told").ID()
		return nil
	})
	if err := os.CopyFS(filepath.Join(dir, "two"), os.DirFS(filepath.Join(dir, "one"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "two", "key"), 0o600); err != nil {
		t.Fatal(err)
	}
	tell800(t, one, id, "here")
	tell800(t, two, id, "there")
	within(t, two, func(ctx context.Context, s perdure.Store) error {
		_, err := two.Export(ctx, s, id, home.Export{Options: capsule.Options{Depth: perdure.Full}, File: file})
		return err
	})
	within(t, one, func(ctx context.Context, s perdure.Store) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if r, err := one.Import(ctx, s, f, home.Intake{}); err != nil || r.Held {
			t.Errorf("imported %+v, %v", r, err)
		}
		return nil
	})
	within(t, one, func(ctx context.Context, s perdure.Store) error {
		n, err := one.Node(ctx, s)
		if err != nil {
			return err
		}
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			return err
		}
		if v := view.Summarize(a, n.Trust, nil, n.Key.Key(), time.Now()); len(v.Inbox) != 1_600 {
			t.Errorf("%d events are shown as unseen, want 1600", len(v.Inbox))
		}
		h := heard{}
		n.Advisors, n.Policy = map[string]perdure.Advisor{"": h}, perdure.PolicyFunc(letAll)
		if _, err := n.RunAgent(ctx, id); err != nil {
			return err
		}
		for i := range 800 {
			for _, name := range []string{fmt.Sprint("here", i), fmt.Sprint("there", i)} {
				if h[name] != 1 {
					t.Errorf("its advisor saw %s %d times", name, h[name])
				}
			}
		}
		return nil
	})
}
