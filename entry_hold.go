package perdure

import "slices"

// A hold is the pause that an agent is put under when it arrives somewhere, in nobody's name. It says nothing about the
// agent anywhere else: a copy that comes back with it goes on where it did before, by an event that lets go of it.

// holdOn is the id of the hold of an agent with these heads.
func holdOn(heads []Hash) string {
	var all []byte
	for _, h := range heads {
		all = append(all, h[:]...)
	}
	return "held-" + HashOf(all).String()
}

// IsHold reports whether an entry is a hold: a pause in nobody's name whose id says what it was put on. What it is
// called says nothing: anybody may call a pause anything.
func (e *Entry) IsHold() bool {
	ev, _ := e.content.(Event)
	_, pause := ev.Notice.(Pause)
	return pause && ev.By == "" && ev.ID == holdOn(e.Parents)
}

// LetsGo reports whether an event ends holds put elsewhere, and nothing else: a resume in nobody's name that carries
// what it ends. So it proves by itself, whatever else of the memory is at hand, that it lifts no pause of a person.
func (ev *Event) LetsGo() bool {
	n, ok := ev.Notice.(Resume)
	if !ok || ev.Data == nil || ev.By != "" || ev.Name != "resume" || len(ev.Set) > 0 || ev.Taint {
		return false
	}
	var parts [][]byte
	if ev.Data.Decode(&parts) != nil || len(n.Of) == 0 || len(parts) != 2*len(n.Of) {
		return false
	}
	for i, name := range n.Of {
		hold, err := NewEntry(parts[2*i], parts[2*i+1], nil, Limits{})
		if err != nil || hold.Name != name || !hold.IsHold() {
			return false
		}
	}
	return true
}

// lettingGo is the event that lets go of holds.
func lettingGo(holds []*Entry) (Event, error) {
	var of []Hash
	var parts [][]byte
	for _, e := range holds[:min(len(holds), maxPaused)] {
		of, parts = append(of, e.Name), append(parts, e.header, e.body)
	}
	data, err := DataOf(parts)
	return Event{Name: "resume", Data: data, Notice: Resume{Of: slices.Clip(of)}}, err
}
