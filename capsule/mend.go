package capsule

import (
	"fmt"
	"hash/crc32"

	"github.com/perdure/perdure"
)

// join puts what lies aside of an agent together with what is in its place, and with the capsule if that is all of it
// and counts here.
func (im *importing) join(a *Arrival) (perdure.Healed, error) {
	var good []*perdure.Entry
	if a.Head.Holds() == perdure.Full && im.counts() == nil {
		var err error
		if good, err = im.all(a); err != nil {
			return perdure.Healed{}, err
		}
	}
	return im.s.(perdure.Healer).Heal(im.ctx, a.Head.Agent, good)
}

// examine reads what the store has of the agent, and notes why it cannot, if so. It reports whether something of it
// lies aside.
func (im *importing) examine(id perdure.AgentID) (ailing bool, err error) {
	h, ok := im.s.(perdure.Healer)
	if !ok {
		return false, im.sick
	}
	all, err := h.Ailing(im.ctx)
	if err != nil {
		return false, err
	}
	x, ailing := ailmentOf(all, id)
	if x.Gone && im.sick == nil {
		im.sick = x.Reason
	}
	if im.names == nil || im.sick != nil {
		return ailing, nil
	}
	there := map[short]bool{}
	for item, err := range im.s.Entries(im.ctx, id, 0) {
		if err == nil && im.here == perdure.Full {
			err = linked(item.Entry, there)
		}
		if err == nil {
			if sum, both := im.names[short(item.Name[:16])]; both && item.Signature != nil &&
				sum != crc32.ChecksumIEEE(item.Signature) {
				err = item.CheckSignature()
			}
		}
		if err != nil {
			im.sick = err
			return ailing, im.ctx.Err()
		}
	}
	return ailing, nil
}

// linked says that what an entry is written on is lost. There is what came before it, and then the entry, too.
func linked(e *perdure.Entry, there map[short]bool) error {
	for _, p := range e.Parents {
		if !there[short(p[:16])] {
			return fmt.Errorf("entry %s is lost, on which %s is written", p.Short(), e.Name.Short())
		}
	}
	there[short(e.Name[:16])] = true
	return nil
}

// ailmentOf finds what is known of a damaged agent. An agent of which nothing can be used may be known by an id that is
// damaged itself.
func ailmentOf(all map[perdure.AgentID]perdure.Ailment, id perdure.AgentID) (perdure.Ailment, bool) {
	x, ok := all[id]
	if ok {
		return x, true
	}
	for other, x := range all {
		if x.Gone && id.Resembles(other) {
			return x, true
		}
	}
	return perdure.Ailment{}, false
}

// mend puts what is good of a damaged agent here and of the capsule together.
func (im *importing) mend(a *Arrival) error {
	if a.Head.Holds() != perdure.Full {
		return reject(PredDepth, 0, "$.anchor", "only the end of a memory", "the whole of it: the one here is damaged")
	}
	if err := im.counts(); err != nil {
		return err
	}
	good, err := im.all(a)
	if err != nil {
		return err
	}
	a.Relation = Mended
	a.Healed, err = im.s.(perdure.Healer).Heal(im.ctx, a.Head.Agent, good)
	return err
}

// counts says why the capsule does not count here.
func (im *importing) counts() error {
	if im.o.Trust == nil {
		return nil
	}
	derived, err := im.o.Trust.Fold(im.entries())
	if err == nil {
		err = im.o.Trust.Counts(derived)
	}
	return err
}

// all is every entry of the capsule.
func (im *importing) all(a *Arrival) ([]*perdure.Entry, error) {
	all := make([]*perdure.Entry, 0, a.Index.Entries)
	for e, err := range im.entries() {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
