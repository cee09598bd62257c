package perdure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func TestGatheredIsMetWhenEnoughChildrenHaveEnded(t *testing.T) {
	const none = perdure.Signal(0) // lives
	ok, bad := perdure.OK, perdure.Failed
	for _, c := range []struct {
		enough string
		ended  []perdure.Signal
		want   bool
	}{
		{"all", []perdure.Signal{ok, none, bad}, false},
		{"all", []perdure.Signal{ok, ok, bad}, true},
		{"any", []perdure.Signal{none, bad, none}, false},
		{"any", []perdure.Signal{none, ok, none}, true},
		{"any", []perdure.Signal{bad, bad, bad}, true},
		{"quorum:2", []perdure.Signal{ok, none, none}, false},
		{"quorum:2", []perdure.Signal{ok, bad, none}, false},
		{"quorum:2", []perdure.Signal{ok, none, ok}, true},
		{"quorum:2", []perdure.Signal{bad, bad, none}, true},
		{"first-failure", []perdure.Signal{ok, none, ok}, false},
		{"first-failure", []perdure.Signal{none, none, bad}, true},
		{"first-failure", []perdure.Signal{ok, ok, ok}, true},
	} {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v/named=%v", c.enough, c.ended, named), func(t *testing.T) {
				older := []perdure.ChildInfo{{Agent: perdure.AgentID{0xee}, Ended: true, Signal: ok}, {Agent: perdure.AgentID{0xef}, Ended: true, Signal: bad}}
				f := perdure.Fold{Children: older}
				var ids []perdure.AgentID
				for i := range c.ended {
					ids = append(ids, perdure.AgentID{byte(i)})
				}
				if !named {
					ids = nil
				}
				trigger, err := f.Gathered(c.enough, ids...)
				if err != nil {
					t.Fatal(err)
				}
				if err := perdure.CheckTrigger(trigger); err != nil {
					t.Fatal(err)
				}
				for i, s := range c.ended {
					f.Children = append(f.Children, perdure.ChildInfo{Agent: perdure.AgentID{byte(i)}, Ended: s != none, Signal: s})
				}
				f.Sleep = &perdure.Sleeping{Sleep: perdure.Sleep{Trigger: trigger}}
				if got := f.Met(time.Unix(1, 0)); got.Met != c.want {
					t.Errorf("%v: %+v, want met %v", trigger, got, c.want)
				}
			})
		}
	}
}

func TestGatheredCountsManyChildren(t *testing.T) {
	var f perdure.Fold
	var ids []perdure.AgentID
	for i := range 200 {
		id := perdure.AgentID{1, byte(i)}
		ids = append(ids, id)
		f.Children = append(f.Children, perdure.ChildInfo{Agent: id, Ended: i > 50, Signal: perdure.OK})
	}
	for enough, want := range map[string]bool{"quorum:149": true, "quorum:150": false, "all": false} {
		trigger, err := f.Gathered(enough, ids...)
		if err == nil {
			err = perdure.CheckTrigger(trigger)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Sleep = &perdure.Sleeping{Sleep: perdure.Sleep{Trigger: trigger}}
		if got := f.Met(time.Unix(1, 0)); got.Met != want {
			t.Errorf("%s of 149 that ended: met %v, want %v (%s)", enough, got.Met, want, got.Why)
		}
	}
}

func TestGatheredRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, enough := range []string{"", "most", "quorum", "quorum:0", "quorum:x", "quorum:3"} {
		if _, err := new(perdure.Fold).Gathered(enough, perdure.AgentID{1}, perdure.AgentID{2}); err == nil {
			t.Errorf("%q is taken", enough)
		}
	}
}
