package perdure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// maxRetellScan bounds how many entries a node reads to find what it is to tell again. What was told longer ago than
// that stays in memory, where people find it.
const maxRetellScan = 1 << 16

// drop denies what is left of advice that is not acted on, and tells the agent again what that had seen: in one commit,
// so that neither is there without the other.
func (w *work) drop(ctx context.Context, s dropStep, now time.Time) error {
	if err := w.flush(ctx); err != nil { // what is found in the store is then all there is
		return err
	}
	again, err := w.unheeded(ctx, s)
	if err != nil {
		return err
	}
	for i := range s.drops {
		d := &s.drops[i]
		for n, done := range d.Decided {
			if done {
				continue
			}
			if _, err := w.decide(ctx, decideStep{Action: d.Actions[n], Advice: d.Advice, Index: int64(n),
				Outdated: d.why}, now); err != nil {
				return err
			}
		}
	}
	for _, e := range again {
		if err := w.tellAgain(e, now); err != nil {
			return err
		}
	}
	return w.flush(ctx)
}

// unheeded are the events that advice has seen which is to be dropped, and no other, oldest first.
func (w *work) unheeded(ctx context.Context, s dropStep) ([]*Entry, error) {
	f := w.a.fold
	names := make([]Hash, len(s.drops))
	for i := range s.drops {
		names[i] = s.drops[i].Advice
	}
	advice, err := w.entries(ctx, names)
	if err != nil {
		return nil, err
	}
	elsewhere := f.seenElsewhere(names)
	var seen []Hash
	for _, e := range advice {
		if a, ok := e.content.(Advice); ok {
			seen = append(seen, a.Seen...)
		}
	}
	slices.SortFunc(seen, Hash.Compare)
	seen = slices.DeleteFunc(slices.Compact(seen), func(h Hash) bool { return elsewhere(h) || f.waits(h) })
	return w.entries(ctx, seen)
}

// waits reports whether the advisor is still to see an event, or one that says the same.
func (f *Fold) waits(event Hash) bool {
	is := func(h Hash) bool {
		return slices.ContainsFunc(f.Unseen(), func(m Message) bool { return m.Event == h })
	}
	return is(event) || slices.ContainsFunc(f.twins, func(t twin) bool {
		return t.second == event && is(t.first) || t.first == event && is(t.second)
	})
}

// entries are those of these names, in fold order: those that are held, else of the store.
func (w *work) entries(ctx context.Context, names []Hash) (found []*Entry, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	is, looked := oneOf(names), 0
	for e := range w.a.Recent() {
		if is(e.Name) {
			found = append(found, e)
		}
	}
	if len(found) < len(names) {
		found = nil
		for e, err := range Backwards(ctx, w.n.Store, w.a.ID(), nil) {
			if err != nil {
				return nil, fmt.Errorf("read what agent %s was told: %w", w.a.ID().Short(), err)
			}
			if is(e.Name) {
				found = append(found, e)
			}
			if looked++; len(found) == len(names) || looked == maxRetellScan {
				break
			}
		}
	}
	return sorted(found), nil
}

// tellAgain tells the agent what an event said, in the words and the name of whoever said it, and from outside where
// that was. A second node that does the same says nothing new, by its id. Nothing is told again that has expired, or
// whose author does not count any more.
func (w *work) tellAgain(e *Entry, now time.Time) error {
	ev, ok := e.content.(Event)
	data, joined := ev.words()
	if !ok || !joined || slices.Contains(w.a.fold.Revoked, e.Origin) {
		return nil
	}
	d := Draft{Policy: w.n.PolicyHash, Trace: e.Trace}
	if lasts := e.lasts(w.a.fold.Intent.TTL); lasts > 0 {
		if d.TTL = (e.Time + Time(lasts)).Go().Sub(now); d.TTL < time.Millisecond {
			return nil
		}
	}
	again := Event{Name: ev.Name, By: cmp.Or(ev.By, e.Origin.Short()), Data: data, Taint: ev.Taint,
		ID: ev.again(e.Name)}
	if slices.Contains(w.a.fold.Dedupe, again.dedupeID()) {
		return nil
	}
	d.Body = again
	err := w.addDraft(now, d)
	if unrecordable(err) { // it holds what must not be written down any more
		again.Data = nil
		d.Body = again
		err = w.addDraft(now, d)
	}
	return err
}

// words is what the advisor reads of an event, if it is one for the advisor: see notice.
func (ev *Event) words() (Data, bool) {
	switch n := ev.Notice.(type) {
	case nil:
		return ev.Data, true
	case ChildEnded:
		if len(n.Result) == 0 && n.Note != "" {
			data, err := DataOf(n.Note)
			return data, err == nil
		}
		return n.Result, true
	case Settle:
		return ev.noted(n.Note), true
	case Edit:
		return ev.noted(n.Mutate.Note), true
	}
	return nil, false
}

// noted is the data of an event, or the note of its notice.
func (ev *Event) noted(note string) Data {
	if len(ev.Data) > 0 || note == "" {
		return ev.Data
	}
	data, _ := DataOf(note)
	return data
}
