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

// Both copies decide what one advice proposed, and one of them later than the other ends, or has other advice.
func TestASharedProposalDecidedBesideTheEndIsFoundDoubled(t *testing.T) {
	pay := Execute{Tool: "pay"}
	allow := func(of string, effect Effect) func(*dag) Body {
		return func(d *dag) Body {
			return Decision{Advice: d.entries[of].Name, Verdict: Verdict{Answer: Allow}, Effect: effect}
		}
	}
	for _, last := range []Action{End{Signal: OK}, Sleep{Trigger: On{Event: "x"}}} {
		d := lineage(t, `
G -> A -> D -> O -> B -> E
     | -> X -> Y -> Z -> V -> W -> F`, func(d *dag) {
			d.body["A"] = func(*dag) Body { return Advice{Actions: []Action{pay}} }
			d.body["D"], d.body["F"] = allow("A", Once), allow("A", Once)
			d.body["O"] = func(d *dag) Body { return Outcome{Decision: d.entries["D"].Name, Signal: OK} }
			d.body["B"] = func(*dag) Body { return Advice{Actions: []Action{last}} }
			d.body["E"] = allow("B", 0)
		})
		var all []*Entry
		for _, name := range d.names {
			all = append(all, d.entries[name])
		}
		a, err := FoldEntries(seq(all))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(a.Fold().Doubles()); n != 1 {
			t.Errorf("%T: %d found decided twice, want 1", last, n)
		}
	}
}
