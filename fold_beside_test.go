package perdure

import "testing"

func TestADecisionToSleepBesideTheEndLeavesNothingOpen(t *testing.T) {
	d := lineage(t, `
G -> A -> X -> S
     | -> C`, func(d *dag) {
		d.body["A"] = func(*dag) Body { return Advice{Actions: []Action{Sleep{Trigger: On{Event: "x"}}}} }
		d.body["S"] = func(d *dag) Body {
			return Decision{Advice: d.entries["A"].Name, Verdict: Verdict{Answer: Allow}}
		}
		d.body["C"] = func(*dag) Body { return Event{Name: "cancel", Notice: Cancel{}} }
	})
	var all []*Entry
	for _, name := range d.names {
		all = append(all, d.entries[name])
	}
	a, err := FoldEntries(seq(all))
	if err != nil {
		t.Fatal(err)
	}
	if f := a.Fold(); f.Ended == nil || len(f.Open) != 0 || f.Sleep != nil {
		t.Errorf("ended %v, open %+v, sleep %+v; want the end alone", f.Ended, f.Open, f.Sleep)
	}
}
