package perdure

import (
	"fmt"
	"testing"
	"time"
)

func TestGatheredIsMetWhenEnoughChildrenHaveEnded(t *testing.T) {
	const none = Signal(0) // lives
	ok, bad := OK, Failed
	for _, c := range []struct {
		enough string
		ended  []Signal
		want   bool
	}{
		{"all", []Signal{ok, none, bad}, false},
		{"all", []Signal{ok, ok, bad}, true},
		{"any", []Signal{none, bad, none}, false},
		{"any", []Signal{none, ok, none}, true},
		{"any", []Signal{bad, bad, bad}, true},
		{"quorum:2", []Signal{ok, none, none}, false},
		{"quorum:2", []Signal{ok, bad, none}, false},
		{"quorum:2", []Signal{ok, none, ok}, true},
		{"quorum:2", []Signal{bad, bad, none}, true},
		{"first-failure", []Signal{ok, none, ok}, false},
		{"first-failure", []Signal{none, none, bad}, true},
		{"first-failure", []Signal{ok, ok, ok}, true},
	} {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v/named=%v", c.enough, c.ended, named), func(t *testing.T) {
				older := []ChildInfo{{Agent: AgentID{0xee}, Ended: true, Signal: ok},
					{Agent: AgentID{0xef}, Ended: true, Signal: bad}}
				f := Fold{Children: older}
				var ids []AgentID
				for i := range c.ended {
					ids = append(ids, AgentID{byte(i)})
				}
				if !named {
					ids = nil
				}
				trigger, err := f.Gathered(c.enough, ids...)
				if err != nil {
					t.Fatal(err)
				}
				if err := CheckTrigger(trigger); err != nil {
					t.Fatal(err)
				}
				for i, s := range c.ended {
					f.Children = append(f.Children, ChildInfo{Agent: AgentID{byte(i)}, Ended: s != none, Signal: s})
				}
				f.Sleep = &Sleeping{Sleep: Sleep{Trigger: trigger}}
				if got := f.met(time.Unix(1, 0), true); got.Met != c.want {
					t.Errorf("%v: %+v, want met %v", trigger, got, c.want)
				}
			})
		}
	}
}

func TestGatheredCountsManyChildren(t *testing.T) {
	var f Fold
	var ids []AgentID
	for i := range 200 {
		id := AgentID{1, byte(i)}
		ids = append(ids, id)
		f.Children = append(f.Children, ChildInfo{Agent: id, Ended: i > 50, Signal: OK})
	}
	for enough, want := range map[string]bool{"quorum:149": true, "quorum:150": false, "all": false} {
		trigger, err := f.Gathered(enough, ids...)
		if err == nil {
			err = CheckTrigger(trigger)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Sleep = &Sleeping{Sleep: Sleep{Trigger: trigger}}
		if got := f.met(time.Unix(1, 0), true); got.Met != want {
			t.Errorf("%s of 149 that ended: met %v, want %v (%s)", enough, got.Met, want, got.Why)
		}
	}
}

func TestGatheredRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, enough := range []string{"", "most", "quorum", "quorum:0", "quorum:x", "quorum:3"} {
		if _, err := new(Fold).Gathered(enough, AgentID{1}, AgentID{2}); err == nil {
			t.Errorf("%q is taken", enough)
		}
	}
}
