package home_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/phase"
)

// Whoever says how an agent stands says the same of one that nobody is at work on any more: the list, the page about
// it, and the line after something that it was told, which MCP and A2A show too.
func TestAllSayTheSameOfAnAgentWhoseNodeDied(t *testing.T) {
	t.Parallel()
	now, h := time.Now(), &home.Home{URL: t.TempDir()}
	for effect, want := range map[perdure.Effect]phase.Standing{perdure.Once: "waiting", perdure.Read: "ready"} {
		within(t, h, func(ctx context.Context, s perdure.Store) error {
			a := agentIn(ctx, t, h, s, "of-"+effect.String())
			n, err := h.Node(ctx, s)
			if err != nil {
				return err
			}
			begun, _, err := n.Key.Commit(a, now, perdure.Draft{Body: perdure.Decision{
				Action: perdure.Execute{Tool: "pay"}, Effect: effect, Deadline: perdure.TimeOf(now.Add(time.Hour)),
				Verdict: perdure.Verdict{Answer: perdure.Allow}}})
			if err == nil {
				err = s.Append(ctx, a.ID(), a.Heads(), begun...)
			}
			if err != nil {
				return err
			}
			if a, err = perdure.Load(ctx, s, a.ID()); err != nil {
				return err
			}
			says := map[string]phase.Standing{}
			if says["what MCP, A2A and told agents show"], err = h.Standing(ctx, s, a, now); err != nil {
				return err
			}
			v, _, err := h.Summary(ctx, s, &home.Point{Agent: a})
			if err != nil {
				return err
			}
			says["show"] = v.Standing
			found, err := h.Check(ctx, s, []perdure.Listing{a.Listing(now)}, false)
			if err != nil {
				return err
			}
			says["ls"] = found[0].Standing
			for who, is := range says {
				if is != want {
					t.Errorf("%s effect: %s: it is %s, want %s", effect, who, is, want)
				}
			}
			return nil
		})
	}
}
