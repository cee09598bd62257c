package home_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
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
		const size = 240 << 10
		own := filepath.Join(t.TempDir(), "own") // what the owner names takes nothing of it
		for i := range 18 {
			text := fmt.Sprintf("@id(\"own%d\") forbid (principal, action, resource); //%*s", i, size, "")
			lode := fmt.Sprintf(`{"name": "own%d", "version": 1, "fields": [{"id": 1, "name": "size", "type": "int"}]}%*s`,
				i, size, "")
			if err := errors.Join(os.WriteFile(own+".cedar", []byte(text), 0o600),
				os.WriteFile(own+".lode", []byte(lode), 0o600)); err != nil {
				return err
			}
			f := &home.IntentFile{Policies: []string{own + ".cedar"}, StateSchema: own + ".lode"}
			var g perdure.Genesis
			if err := f.Refer(h, "", &g); err != nil {
				return err
			}
			if set, err := home.LoadPolicy(h, nil); err != nil || set.Under(g.Charter.Policies[0]) == nil {
				t.Errorf("own policy %d: %v, or it is not found", i, err)
			}
		}
		pad := strings.Repeat("x", size)
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
			if i < 16 && err != nil || i >= 16 && (err == nil || !strings.Contains(err.Error(), "no room")) {
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

// TestAStrangersTextsWaitForWhoeverAdmitsIt: what an agent brings along that is held here does not enter the home, in
// however many parts it comes.
func TestAStrangersTextsWaitForWhoeverAdmitsIt(t *testing.T) {
	t.Parallel()
	a, _ := openDesk(t)
	b, n := openDesk(t)
	set, err := policy.Parse(policy.File{Name: "p.cedar", Text: []byte(`@id("p") forbid (principal, action, resource);`)})
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.Desk.Node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "hear"},
		Charter: perdure.Charter{Scope: "home", Policies: []perdure.Hash{set.Hash()}}})
	if err != nil {
		t.Fatal(err)
	}
	told := perdure.Enclosed{Of: set.Hash(), Kind: perdure.EnclosedPolicy, Text: set.Tell(set.Hash())}
	if _, err := a.Desk.Node.Tell(t.Context(), x.ID(), perdure.Event{Name: "enclosed", Notice: told}); err != nil {
		t.Fatal(err)
	}
	knows := func() bool {
		known, err := home.LoadPolicy(b.Desk.Home, nil)
		if err != nil {
			t.Fatal(err)
		}
		return known.Under(set.Hash()) != nil
	}
	for i := range 3 {
		s, err := exchange.Sync(t.Context(), a, b, x.ID(), exchange.Push)
		if err != nil || s.Pushed.Held == "" || knows() {
			t.Fatalf("push %d: %+v %v, known: %v", i, s.Pushed, err, knows())
		}
		hears(t, a, x.ID(), 1)
	}
	held, err := b.Desk.Load(t.Context(), x.ID())
	if err == nil {
		_, err = b.Desk.Home.Resume(t.Context(), n, held, "mine now", false)
	}
	if err != nil || !knows() {
		t.Errorf("admitted: %v, known: %v", err, knows())
	}
}
