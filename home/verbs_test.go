package home_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// hinted is what an error says to do.
func hinted(err error) string {
	text, hint := view.Explain(err, "perdure")
	return text + "; " + hint
}

func TestWhatIsToldIsRecordedAndSaid(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir()}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		a := agentIn(ctx, t, h, s, "one")
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		if _, err := h.Resume(ctx, n, a, "", false); err == nil || !strings.Contains(err.Error(), "is not paused") {
			t.Errorf("resumed what is not paused: %v", err)
		}
		e, err := n.Pause(ctx, a.ID(), "wait")
		if err != nil {
			return err
		}
		r := h.Told(ctx, s, e)
		if r.Standing != "waiting" || r.Seq != e.Seq || r.Name != "one" {
			t.Errorf("told %+v", r)
		}
		if e, err = h.Resume(ctx, n, r.Now, "", false); err != nil {
			return err
		}
		if r = h.Told(ctx, s, e); r.Standing == "" || r.Standing == "waiting" {
			t.Errorf("resumed %+v", r)
		}
		all, err := h.List(ctx, s, perdure.Filter{})
		if err != nil || len(all) != 1 || all[0].Next(time.Now()) != "now" {
			t.Errorf("listed %+v, %v", all, err)
		}
		if seat, err := h.Seated(ctx, s, r.Now); err != nil || !seat.Here {
			t.Errorf("seated %+v, %v", seat, err)
		}
		if found, err := h.Collect(ctx, s, nil, false); err != nil || len(found) > 0 {
			t.Errorf("collected %+v, %v", found, err)
		}
		return nil
	})
}

func TestWhoeverRunsAnAgentIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir()}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		a := agentIn(ctx, t, h, s, "one")
		n, err := new(home.Powers).Node(ctx, h, s, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		run := func() (what, hint string) {
			idle, err := n.RunAgent(ctx, a.ID())
			if err != nil {
				t.Fatal(err)
			}
			r, err := h.Ran(ctx, s, a.ID(), idle, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return r.Stuck()
		}
		file := filepath.Join(h.Dir, home.NodeFileName)
		if what, hint := run(); what != ": no advisor configured" || !strings.HasSuffix(hint, file) {
			t.Errorf("without an advisor: %q, %q", what, hint)
		}
		if _, err := n.Pause(ctx, a.ID(), ""); err != nil {
			return err
		}
		if what, hint := run(); what != "" || hint != "see perdure inbox" {
			t.Errorf("paused: %q, %q", what, hint)
		}
		return nil
	})
}

func TestAHomeHasOneKeyAndSaysWhomItTrusts(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir(), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	k, err := h.NewKey(t.Context(), "ann")
	if err != nil || k.Name != "ann" {
		t.Fatalf("made %+v, %v", k, err)
	}
	if _, err := h.NewKey(t.Context(), "bob"); err == nil || !strings.Contains(hinted(err), "move it away first") {
		t.Errorf("a second key: %v", err)
	}
	other, err := perdure.GenerateSigner("bob")
	if err != nil {
		t.Fatal(err)
	}
	for _, revoke := range []bool{false, true} {
		who, err := home.TrusteeOf(other.VerifierKey(), "author", perdure.AnyScope, "", revoke)
		if err == nil {
			err = h.TrustKey(who)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lines, err := h.TrustLines()
	if err != nil {
		t.Fatal(err)
	}
	gone, back := 0, 0
	for _, l := range lines {
		if l.Revoked {
			gone++
		}
		if strings.HasPrefix(l.Text, "# taken back: ") {
			back++
		}
	}
	if len(lines) != 3 || gone != 2 || back != 1 {
		t.Errorf("lines are %+v", lines)
	}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		own, err := home.TrusteeOf(k.Text, "", "", "", true)
		if err != nil {
			return err
		}
		if _, err := h.Revoke(ctx, s, own, k.Text); err == nil {
			t.Error("a home revokes its own key")
		}
		return nil
	})
}

func TestAPageIsOfTheWholeAgent(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir()}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		agentIn(ctx, t, h, s, "one")
		p, err := home.FindPoint(ctx, h, s, "one")
		if err != nil {
			return err
		}
		v, now, err := h.Summary(ctx, s, p)
		if err != nil {
			return err
		}
		var labels []string
		for _, r := range v.Page(now, false) {
			labels = append(labels, r.Label)
		}
		for _, want := range []string{"agent", "goal", "scope", "standing", "spent", "seat", "memory", "head"} {
			if !slices.Contains(labels, want) {
				t.Errorf("the page has no %s: %q", want, labels)
			}
		}
		return nil
	})
}
