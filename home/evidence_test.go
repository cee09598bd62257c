package home_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func TestWhatIsAskedAboutIsShownHoweverMuchWasAdvised(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home")}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		a := agentIn(ctx, t, h, s, "one")
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		act := perdure.Execute{Tool: "pay"}
		drafts := make([]perdure.Draft, 4097)
		for i := range drafts {
			drafts[i].Body = perdure.Advice{Actions: []perdure.Action{act}}
		}
		advised, a, err := n.Key.Commit(a, time.Now(), drafts...)
		if err != nil {
			return err
		}
		advice := advised[len(advised)-1]
		decided, _, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Decision{Advice: advice.Name,
			Verdict: perdure.Verdict{Answer: perdure.Ask, Rules: []string{"people"}}}})
		if err != nil {
			return err
		}
		if err := s.Put(ctx, a.ID(), append(advised, decided...)...); err != nil {
			return err
		}
		d := &home.Desk{Home: h, Store: s, Node: n}
		got, err := d.Evidence(ctx, a.ID(), decided[0].Name)
		if err != nil || len(got) != 2 || got[0].Name != advice.Name || got[1].Name != decided[0].Name {
			t.Errorf("got %d entries, %v; want the advice and the decision", len(got), err)
		}
		first, err := d.Evidence(ctx, a.ID(), a.Heads()[0])
		if err != nil || len(first) != 1 {
			t.Errorf("what is no decision: got %d entries, %v", len(first), err)
		}
		if _, err := d.Evidence(ctx, a.ID(), perdure.Hash{1}); home.KindOf(err) != home.KindNotFound {
			t.Errorf("what is not there: got %v", err)
		}
		return nil
	})
}
