package perdure

import (
	"slices"
	"time"
)

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

// BesideHolds are the heads of what an agent has without the holds it is under and what follows them, which are named,
// too; none where there is no hold, or it is not among what the agent holds. A hold is a matter of the place that put
// it, so what is to count elsewhere is written beside it.
func (a *Agent) BesideHolds() (heads []Hash, held map[Hash]bool) {
	recent := slices.Collect(a.Recent())
	slices.Reverse(recent) // parents before children
	held = map[Hash]bool{}
	ends := map[Hash]bool{}
	for _, e := range recent {
		isHeld := func(p Hash) bool { return held[p] }
		if slices.Contains(a.fold.Paused, e.Name) && e.IsHold() || slices.ContainsFunc(e.Parents, isHeld) {
			held[e.Name] = true
		}
	}
	if len(held) == 0 {
		return nil, nil
	}
	for _, h := range a.Heads() {
		ends[h] = !held[h]
	}
	for _, e := range recent {
		for _, p := range e.Parents {
			if held[e.Name] && !held[p] {
				ends[p] = true
			}
		}
	}
	for _, e := range recent {
		for _, p := range e.Parents {
			if !held[e.Name] {
				delete(ends, p)
			}
		}
	}
	for h, end := range ends {
		if end {
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, Hash.Compare)
	return heads, held
}

// answer is Commit of an answer to a question. One to an agent that is held here is written beside the hold: where the
// agent runs, nobody has to trust this home to put it under a pause, and what follows such a pause does not count.
func (s *Signer) answer(a *Agent, now time.Time, d Draft) ([]*Entry, *Agent, error) {
	heads, held := a.BesideHolds()
	v, _ := d.Body.(Event).Notice.(Approval)
	_, known := a.highest(heads)
	if len(heads) == 0 || len(heads) > MaxParents || !known || held[v.Decision] {
		return s.Commit(a, now, d)
	}
	e, next, err := s.extendOn(a, heads, now, d)
	if err != nil {
		return nil, nil, err
	}
	return []*Entry{e}, next, s.seal(e)
}
