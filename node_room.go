package perdure

import (
	"fmt"
	"slices"
	"time"
)

// roomFor refuses what an agent would be told at the price of what it was told before: of too many events that nobody
// has seen, the oldest leave the inbox, and whoever sent them was told that they arrived. The last part of the inbox is
// for what the agent waits for, and what must not be refused: the end of a child, what people settle and edit. An event
// that alone leaves no room for others is refused, too. What wakes the agent is never refused: that is how the inbox
// gets empty.
//
// Whoever speaks in the name of the node's key may use nearly all of it. Others leave a little, also with what the
// agent waits for: else anybody who may send events could keep the owner from being heard.
//
// Copies that were told apart may come to more together; then the oldest leave the inbox, and are seen all the same:
// see Fold.Unseen.
func (n *Node) roomFor(a, told *Agent, ev *Event, now time.Time) error {
	f := a.fold
	if ev.Notice != nil || f.Ended != nil {
		return nil
	}
	most, bytes := n.shareOf(f, ev)
	whole := len(f.Inbox) == 0 || len(told.fold.Inbox) > 0 && told.fold.Inbox[0].Event == f.Inbox[0].Event
	if whole && len(told.fold.Inbox) <= most && told.fold.weigh().inbox <= bytes {
		return nil
	}
	if f.Sleep != nil && !f.met(now, false).Met && told.fold.met(now, false).Met {
		return nil
	}
	if alone := told.fold.weigh().inbox - f.weigh().inbox; alone > bytes {
		return Invalid(fmt.Errorf("the event has %d bytes, and the inbox of the agent takes no more than %d of it, "+
			"also when it is empty; send less, or where it is to be found", alone, bytes))
	}
	if len(f.Inbox) < most {
		return fmt.Errorf("%w: with this event, what the agent has not seen would be more than %d bytes; send less, "+
			"or send it again once the agent has run", ErrFull, bytes)
	}
	return fmt.Errorf("%w: %d events wait that the agent has not seen; send it again once the agent has run", ErrFull,
		len(f.Inbox))
}

// shareOf is how many events that nobody has seen there may be with this one, and how many bytes.
func (n *Node) shareOf(f *Fold, ev *Event) (most, bytes int) {
	own, awaited := ev.By == "" || ev.By == n.Key.Name, f.Sleep != nil && awaits(f.Sleep.Sleep.Trigger, ev.Name)
	switch {
	case own && awaited:
		return maxInbox, maxInboxBytes
	case own:
		return ownInbox, ownInboxBytes
	case awaited:
		return awaitedInbox, awaitedInboxBytes
	}
	return othersInbox, othersInboxBytes
}

// awaits reports whether a trigger speaks of events of a name.
func awaits(t Trigger, name string) bool {
	one := func(of []Trigger) bool {
		return slices.ContainsFunc(of, func(t Trigger) bool { return awaits(t, name) })
	}
	switch t := t.(type) {
	case On:
		return t.Event == name
	case Any:
		return one(t.Of)
	case All:
		return one(t.Of)
	case At, After, Done, Gather, When, Every:
	}
	return false
}
