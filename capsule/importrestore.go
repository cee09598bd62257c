package capsule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// strays are entries that the store has besides an older copy, all of them by unknown keys.
type strays struct {
	count int
	keys  []perdure.Key // who wrote them, in order
	drops bool          // the copy counts here, and there are no others besides it
	holds bool          // but the hold that this place put it under when it arrived
}

// restores reports whether an older copy counts here, and all that the store has besides it was written by keys that
// neither the trust of this place nor the copy knows. Nothing says that these were strangers always: the line that
// trusted one may be gone, and what it did has happened. So it is for people to say whether that is dropped. Anything
// else that is here stays, but for the hold it was put under here: whoever sends an owner's agent first, with an entry
// of their own on top, would keep the owner's own copy out.
func (im *importing) restores(a *Arrival) (besides strays, err error) {
	if _, ok := im.s.(perdure.Parter); !ok || im.o.Trust == nil || a.Head.Holds() != perdure.Full ||
		im.here != perdure.Full {
		return besides, nil
	}
	good, err := im.o.Trust.Fold(im.entries())
	if err == nil {
		err = im.o.Trust.Counts(good)
	}
	if errors.Is(err, perdure.ErrRejected) {
		return besides, nil
	}
	if err != nil {
		return besides, err
	}
	known := map[perdure.Key]bool{}
	for _, one := range im.o.Trust.Trustees() {
		known[one.Key] = true
	}
	charter := good.Fold().Charter
	for _, k := range append(append([]perdure.Key{charter.Owner}, charter.Delegates...), charter.Approvers...) {
		known[k] = true
	}
	for e, err := range im.entries() {
		if err != nil {
			return besides, err
		}
		known[e.Origin] = true
	}
	for item, err := range im.s.Entries(im.ctx, a.Head.Agent, 0) {
		switch {
		case err != nil:
			return besides, err
		case im.has(item.Name):
			continue
		case im.o.Key != nil && item.Origin == im.o.Key.Key() && item.IsHold():
			besides.holds = true
			continue
		case known[item.Origin]:
			return strays{}, nil
		}
		if besides.count++; !slices.Contains(besides.keys, item.Origin) {
			besides.keys = append(besides.keys, item.Origin)
		}
	}
	besides.drops = besides.count > 0
	return besides, nil
}

// restore puts the copy in the place of what is here, if people said so. Where that waits to be admitted, the copy is
// asked about as one that is new here.
func (im *importing) restore(a *Arrival, besides strays) error {
	if !im.o.Drop {
		r := reject(PredRollback, 0, "$.heads", "a copy older than the one here, which has "+besides.words(),
			"one at least as new")
		r.Hint = ""
		return perdure.WithHint(r, fmt.Sprintf("nothing was dropped. If you know who that is, perdure key trust %s "+
			"and keep them: what they did has happened. "+
			"If not, perdure import --drop-unknown drops them, and what they did may be done again", besides.keys[0]))
	}
	var more []*perdure.Entry
	if besides.holds {
		var err error
		if more, err = im.admit(a); err != nil {
			return err
		}
	}
	a.Relation, a.Dropped = Restored, besides.words()
	return im.s.(perdure.Parter).Replace(im.ctx, a.Head.Agent, im.held, perdure.Full,
		inTurn(im.entries(), each(more)))
}

// instead puts a copy that counts here in the place of one that cannot be merged with it, which is kept elsewhere.
func (im *importing) instead(a *Arrival, heads []perdure.Hash) error {
	p, err := im.parter()
	if err != nil {
		return err
	}
	if im.o.Trust != nil {
		good, err := im.o.Trust.Fold(im.entries())
		if err == nil {
			err = im.o.Trust.Counts(good)
		}
		if err != nil {
			return err
		}
	}
	im.told = true // the hold of this place goes with the copy that is here, whatever the other tells
	more, err := im.stay(a, a.Head.Holds(), im.entries())
	if err != nil {
		return err
	}
	if err := im.o.Aside(a.Head.Agent); err != nil {
		return fmt.Errorf("keep the copy that is here: %w", err)
	}
	a.Relation, a.Dropped = Restored, "what only that one had"
	return p.Replace(im.ctx, a.Head.Agent, heads, a.Head.Holds(), inTurn(im.entries(), each(more)))
}

// words names the entries and who wrote them.
func (s *strays) words() string {
	var names []string
	for _, k := range s.keys[:min(len(s.keys), 8)] {
		names = append(names, k.String())
	}
	if more := len(s.keys) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	entries := fmt.Sprintf("%d entries", s.count)
	if s.count == 1 {
		entries = "1 entry"
	}
	return entries + " more by keys that are unknown here: " + strings.Join(names, ", ")
}
