package home_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// What arrived waits for the owner of the home, whether its author is trusted or not; a pause is ended by whoever may.
func TestOnlyTheOwnerOfTheHomeAdmits(t *testing.T) {
	t.Parallel()
	there, tn := openDesk(t)
	for _, trusted := range []bool{true, false} {
		here, _ := openDesk(t)
		if trusted {
			err := here.Desk.Home.TrustKey(perdure.Trustee{Key: tn.Key.Key(), Rights: perdure.MayOwn,
				Scope: perdure.AnyScope})
			if err != nil {
				t.Fatal(err)
			}
		}
		id := newAgent(t, there, 1)
		if s, err := exchange.Sync(t.Context(), there, here, id, exchange.Push); err != nil || s.Pushed.Held == "" {
			t.Fatalf("%+v %v, want it to wait", s, err)
		}
		d, name := here.Desk, id.String()
		rita := &home.Visitor{Name: "rita", Speaks: true, Scope: perdure.AnyScope, Key: there.Desk.Node.Key.Key(),
			Verbs: []string{home.VerbRead, home.VerbPause, home.VerbResume}}
		if _, err := d.Resume(t.Context(), rita, name, ""); home.KindOf(err) != home.KindDenied {
			t.Errorf("trusted %t: %v, want it denied to whoever is not the owner", trusted, err)
		}
		p, err := d.Point(t.Context(), rita, name)
		if err != nil {
			t.Fatal(err)
		}
		sum, _, err := d.Summary(t.Context(), rita, p)
		if err != nil || len(sum.Waits) != 1 || sum.Waits[0].Kind != view.WaitPause || sum.Waits[0].Answer != "" {
			t.Errorf("trusted %t: %+v %v, want no answer offered", trusted, sum.Waits, err)
		}
		if _, err := d.Resume(t.Context(), here.Visitor, name, ""); err != nil {
			t.Errorf("trusted %t: %v, want it admitted by the owner", trusted, err)
		}
		if _, err := d.Pause(t.Context(), rita, name, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Resume(t.Context(), rita, name, ""); err != nil {
			t.Errorf("trusted %t: %v, want a pause ended by whoever may", trusted, err)
		}
	}
}
