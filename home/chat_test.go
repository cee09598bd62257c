package home_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func TestAHomeHasAChatOfItsOwn(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir(), Acts: true}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		other := perdure.Genesis{Intent: perdure.Intent{Goal: "x", Name: "billing", Kind: perdure.ChatKind},
			Charter: perdure.Charter{Scope: "home"}}
		if _, err := n.Create(ctx, other); err != nil {
			return err
		}
		chat := func(another, made bool) perdure.AgentID {
			id, is, err := h.Chat(ctx, s, another, nil)
			if err != nil || is != made {
				t.Fatalf("made %v, %v; want %v", is, err, made)
			}
			return id
		}
		first := chat(false, true)
		if got := chat(false, false); got != first {
			t.Errorf("it comes back to %s, want %s", got.Short(), first.Short())
		}
		second := chat(true, true)
		if got := chat(false, false); got != second {
			t.Errorf("after --new it comes back to %s, want %s", got.Short(), second.Short())
		}
		if _, err := n.Say(ctx, first, "hello"); err != nil {
			return err
		}
		a, err := h.Load(ctx, s, first)
		if err == nil {
			err = home.Index(ctx, s, a)
		}
		if got := chat(false, false); got != first || err != nil {
			t.Errorf("it comes back to %s, want the one talked to last, %s; %v", got.Short(), first.Short(), err)
		}
		for _, id := range []perdure.AgentID{first, second} {
			if _, err := n.Cancel(ctx, id, ""); err != nil {
				return err
			}
		}
		if third := chat(false, true); third == first || third == second {
			t.Error("it comes back to one that has ended")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
