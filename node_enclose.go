package perdure

import "slices"

// Teller is a Policy or StateChecker that can tell the text of what agents name by its hash. The text is recorded
// before the first decision that depends on it, so that everything a decision depended on is in the agent, wherever
// that goes.
type Teller interface {
	// Tell returns the text of a policy or schema. There is none for what everybody has who can read it, and for what
	// is not known.
	Tell(of Hash) Data
}

// The kinds of what is enclosed.
const (
	EnclosedPolicy = "policy"
	EnclosedSchema = "schema"
)

// enclose is the events that tell the texts this node can tell and memory does not have: of the policy it decides by,
// of the charter's own, and of the schema of the agent's state.
func (n *Node) enclose(f *Fold) []Event {
	var events []Event
	tell := func(by any, kind string, of ...Hash) {
		t, ok := by.(Teller)
		if !ok {
			return
		}
		for _, h := range of {
			if h.IsZero() || slices.Contains(f.Enclosed, h) {
				continue
			}
			if text := t.Tell(h); text != nil {
				events = append(events, Event{Name: "enclosed", By: runtimeName,
					Notice: Enclosed{Of: h, Kind: kind, Text: text}})
			}
		}
	}
	tell(n.Policy, EnclosedPolicy, n.PolicyHash)
	tell(n.Policy, EnclosedPolicy, f.Charter.Policies...)
	tell(n.State, EnclosedSchema, f.Intent.StateSchema)
	return events
}
