package home

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// An agent is told something while it is passed to a peer: it is owed anew, and stays so when the pass is over.
func TestWhatIsOwedDuringAPassIsNotPaidWithIt(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"it is done": nil, "it failed": errors.New("no room")} {
		h := &Home{Dir: t.TempDir()}
		d, err := h.OpenDealings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		owe := func() {
			if err := d.owe(t.Context(), "peer", []perdure.AgentID{{1}}); err != nil {
				t.Fatal(err)
			}
		}
		owing := func() []Owed {
			all, err := d.Owing(t.Context(), "peer", time.Now(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		pass := func(during func()) {
			all := owing()
			if err := d.take(t.Context(), "peer", all); err != nil {
				t.Fatal(err)
			}
			during()
			if err := d.paid(t.Context(), "peer", &all[0], fault, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		owe()
		pass(owe)
		if n := len(owing()); n != 1 {
			t.Errorf("%s: %d are owed, want the one that was told something meanwhile", name, n)
		}
		pass(func() {})
		if n := len(owing()); n != 0 {
			t.Errorf("%s: %d are owed after a pass", name, n)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
