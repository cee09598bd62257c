package home_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// Whoever copied an agent, or had it pass, was killed before the line about it was written. Whoever does it again
// writes the line, though there is nothing left to pass.
func TestWhoPassesAnAgentAgainWritesTheLineThatIsMissing(t *testing.T) {
	from, _ := newHome(t)
	id := made(t, from, "a")["a"]
	err := from.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error {
		n, err := from.Node(ctx, s)
		if err != nil {
			return err
		}
		_, err = n.Tell(ctx, id, perdure.Event{Name: "more"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string]func(ctx context.Context, to *home.Home) error{
		"copy": func(ctx context.Context, to *home.Home) error {
			_, err := to.Copy(ctx, from, perdure.Filter{})
			return err
		},
		"pass": func(ctx context.Context, to *home.Home) error {
			return to.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
				n, err := to.Node(ctx, s)
				if err != nil {
					return err
				}
				v, err := to.Owner()
				if err != nil {
					return err
				}
				_, err = home.Local{Desk: &home.Desk{Home: to, Store: s, Node: n}, Visitor: v}.Offer(ctx, id)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			to, _ := newHome(t)
			killed := func(ctx context.Context, s perdure.Store) error {
				return from.Use(ctx, false, func(ctx context.Context, f perdure.Store) error {
					return perdure.PutAll(ctx, s, id, perdure.Memory(ctx, f, id))
				})
			}
			if err := to.Use(t.Context(), true, killed); err != nil {
				t.Fatal(err)
			}
			if err := again(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			err := to.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error {
				for one, err := range s.(perdure.Lister).List(ctx, perdure.Filter{}) {
					if err != nil || one.Entries != 2 || one.Name != "a" {
						t.Errorf("listed as %+v, %v; want its name and 2 entries", one, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
