package home_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/schema"
)

// TestWhatAgentsBringAlongIsBoundedTogether: the texts that come with agents take so much of a home and no more,
// whoever brings them.
func TestWhatAgentsBringAlongIsBoundedTogether(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		// bring makes an agent with its own text, which the home does not know yet, and has the home learn it
		bring := func(g perdure.Genesis, what perdure.Enclosed) error {
			g.Intent.Goal, g.Charter.Scope = "g", "home"
			a, err := n.Create(ctx, g)
			if err == nil {
				_, err = n.Tell(ctx, a.ID(), perdure.Event{Name: "enclosed", Notice: what})
			}
			if err != nil {
				t.Fatal(err)
			}
			return h.Learn(ctx, s, a.ID())
		}
		pad := strings.Repeat("x", 240<<10)
		var sets []*policy.Set
		for i := range 20 {
			set, err := policy.Parse(policy.File{Name: "p.cedar", Text: fmt.Appendf(nil,
				"@id(\"p%d\") forbid (principal, action, resource); //%s", i, pad)})
			if err != nil {
				return err
			}
			sets = append(sets, set)
			err = bring(perdure.Genesis{Charter: perdure.Charter{Policies: []perdure.Hash{set.Hash()}}},
				perdure.Enclosed{Of: set.Hash(), Kind: perdure.EnclosedPolicy, Text: set.Tell(set.Hash())})
			if i < 16 && err != nil || i > 16 && (err == nil || !strings.Contains(err.Error(), "no room")) {
				t.Errorf("policy %d: %v", i, err)
			}
		}
		known, err := home.LoadPolicy(h, nil)
		if err != nil {
			return err
		}
		if known.Under(sets[0].Hash()) == nil || known.Under(sets[19].Hash()) != nil {
			t.Error("want the first policy to be known, and the last not to be")
		}
		for i := range 2 {
			r := new(schema.Registry)
			sch, err := schema.Parse(fmt.Appendf(nil, `{"name": "s%d", "version": 1, "fields": [`+
				`{"id": 1, "name": "size", "type": "int"}]}`, i), nil)
			if err == nil {
				err = r.Add(sch)
			}
			if err != nil {
				return err
			}
			of := perdure.Hash(sch.ID())
			err = bring(perdure.Genesis{Intent: perdure.Intent{StateSchema: of}},
				perdure.Enclosed{Of: of, Kind: perdure.EnclosedSchema, Text: r.Tell(of)})
			if i == 0 && err != nil || i > 0 && (err == nil || !strings.Contains(err.Error(), "no room")) {
				t.Errorf("schema %d: %v", i, err)
			}
			// as if many had come
			if err := h.Keep(filepath.Join("schemas", "other-"+of.Short()), make([]byte, 4<<20-1)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
