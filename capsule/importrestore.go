package capsule

import (
	"errors"

	"github.com/perdure/perdure"
)

// restores reports whether an older copy counts here, and all that the store has besides it was written by strangers: by keys that neither the
// trust of this place nor the copy knows. Anything else that is here may have been done, and stays.
func (im *importing) restores(a *Arrival) (bool, error) {
	if _, ok := im.s.(perdure.Parter); !ok || im.o.Trust == nil || a.Head.Holds() != perdure.Full || im.here != perdure.Full {
		return false, nil
	}
	good, err := im.o.Trust.Fold(im.entries())
	if err == nil {
		err = im.o.Trust.Counts(good)
	}
	if errors.Is(err, perdure.ErrRejected) {
		return false, nil
	}
	if err != nil {
		return false, err
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
			return false, err
		}
		known[e.Origin] = true
	}
	for item, err := range im.s.Entries(im.ctx, a.Head.Agent, 0) {
		if err != nil {
			return false, err
		}
		if !im.has(item.Name) && known[item.Origin] {
			return false, nil
		}
	}
	return true, nil
}

// restore puts the copy in the place of what is here.
func (im *importing) restore(a *Arrival) error {
	a.Relation = Restored
	return im.s.(perdure.Parter).Replace(im.ctx, a.Head.Agent, im.held, perdure.Full, im.entries())
}
