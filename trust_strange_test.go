package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestStrangeAgentsAreKnownWithoutTheirFold compares what Strange says with what Counts says of the fold.
func TestStrangeAgentsAreKnownWithoutTheirFold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		held bool
		do   func(me, them *perdure.Node, id perdure.AgentID) error
	}{
		"nobody vouched": {true, func(*perdure.Node, *perdure.Node, perdure.AgentID) error { return nil }},
		"paused by me": {true, func(me, _ *perdure.Node, id perdure.AgentID) error {
			_, err := me.Tell(t.Context(), id, perdure.Event{Name: "pause", Notice: perdure.Pause{Note: "arrived"}})
			return err
		}},
		"admitted by themselves": {true, func(_, them *perdure.Node, id perdure.AgentID) error {
			_, err := them.Tell(t.Context(), id, perdure.Event{Name: "admitted", Notice: perdure.Admitted{}})
			return err
		}},
		"admitted by me": {false, func(me, _ *perdure.Node, id perdure.AgentID) error {
			_, err := me.Tell(t.Context(), id, perdure.Event{Name: "admitted", Notice: perdure.Admitted{}})
			return err
		}},
	} {
		s := new(perdure.MemStore)
		adv := scripted(steps("none", 0))
		me, them := newNode(t, s, adv), newNode(t, s, adv)
		me.Trust, them.Trust = nil, nil
		key, err := perdure.GenerateSigner("stranger")
		if err != nil {
			t.Fatal(err)
		}
		them.Key = key
		id := create(t, them, perdure.Genesis{})
		if err := c.do(me, them, id); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		trust := new(perdure.Trust).With(perdure.Trustee{Key: me.Key.Key(), Rights: perdure.MayOwn,
			Scope: perdure.AnyScope})
		held, paused := trust.Strange(t.Context(), s, id)
		a, err := trust.Load(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		if counts := trust.Counts(a); (counts != nil) != c.held || (held != nil) != c.held {
			t.Errorf("%s: strange %v, counts %v", name, held, counts)
		} else if c.held && held.Error() != counts.Error() {
			t.Errorf("%s: %q is not %q", name, held, counts)
		}
		if (paused != nil) != (name == "paused by me") {
			t.Errorf("%s: paused %v", name, paused)
		}
	}
}
