package view

import (
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Where a seat is, seen from a store.
const (
	SeatHere      = "here"
	SeatElsewhere = "elsewhere"
	SeatGiven     = "handed over"
	seatDisputed  = "disputed"
	seatFree      = "free"
)

// SeatOf is where the seat of an agent is, seen from a store.
func SeatOf(f *perdure.Fold, at perdure.Place) string {
	switch {
	case len(f.Seats) == 0:
		return seatFree
	case f.Disputed():
		return seatDisputed
	case f.Seats[0].Given:
		return SeatGiven
	case f.Seats[0].At == at.ID:
		return SeatHere
	}
	return SeatElsewhere
}

// SeatText says where a seat is in words.
func SeatText(f *perdure.Fold, at perdure.Place) string {
	switch where := SeatOf(f, at); where {
	case seatFree:
		return "free: the first node that needs it takes it"
	case seatDisputed:
		return fmt.Sprintf("disputed: %d stores claim it; nothing that must happen once is decided until its owner "+
			"takes it", len(f.Seats))
	case SeatGiven:
		if to := f.Seats[0].To; f.HandedOver(at) && !to.IsZero() {
			return "handed over to key " + to.Short() + ": its node takes it where the agent arrives"
		}
		if f.HandedOver(at) {
			return "handed over: whoever imports the file that export --move wrote takes it"
		}
		if to := f.Seats[0].To; !to.IsZero() {
			return "handed over to key " + to.Short() + ": only its node takes it, wherever the agent is"
		}
		return "handed over: the node that runs it here takes it"
	default:
		return fmt.Sprintf("%s (store %s, epoch %d)", where, f.Seats[0].At.Short(), f.Seats[0].Epoch)
	}
}

// SeatWaits is what of an agent waits for a person because of its seat: that it is elsewhere, that two claim it, that
// something happened twice. Me is the key that answers; zero: it is not known.
func SeatWaits(a *perdure.Agent, t *perdure.Trust, me perdure.Key, at perdure.Place, now time.Time) []Wait {
	f := a.Fold()
	var found []Wait
	add := func(w Wait) {
		w.Agent, w.Name = a.ID(), f.Intent.Name
		found = append(found, w)
	}
	for _, d := range f.Doubles() {
		add(Wait{Kind: WaitDoubled, Decision: d.Second, Since: d.Time,
			What:   fmt.Sprintf(Twice+": decisions %s and %s", d.First.Short(), d.Second.Short()),
			Answer: fmt.Sprintf("perdure settle %s %s --signal ok --note TEXT", Callable(a), d.Second)})
	}
	if f.Ended != nil || len(f.Paused) > 0 {
		return found
	}
	take, others := "perdure seat take "+Callable(a)+" --why TEXT", ""
	if !me.IsZero() && !t.SpeaksFor(f, me) {
		take, others = "", TakenBy(f)
	}
	switch SeatOf(f, at) {
	case seatDisputed:
		add(Wait{Kind: WaitSeat, What: SeatText(f, at), Since: f.Updated, Answer: take, Others: others})
	case SeatElsewhere:
		d := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t}, now).Doing()
		if d.What != "decide" || !bound(d.Action) {
			break
		}
		add(Wait{Kind: WaitSeat, Tool: toolName(d.Action), Since: f.Updated, Answer: take, Others: others,
			What: "this is a copy: what must happen only once is decided where the agent's seat is. If the two " +
				"copies cannot be merged any more, that is nowhere until the seat is taken: " + ActionText(d.Action)})
	}
	return found
}

// Twice says what is known of an act that two copies decided.
const Twice = "decided in two copies, so it may have happened twice"

// TakenBy says who may take the seat of an agent that the key here does not own.
func TakenBy(f *perdure.Fold) string {
	return "only its owner, key " + f.Charter.Owner.Short() + ", can take the seat: with that key, perdure seat take"
}

// bound reports whether an action may need the seat; only the tool itself knows.
func bound(a perdure.Action) bool {
	switch a.(type) {
	case perdure.Execute, perdure.Delegate:
		return true
	}
	return false
}
