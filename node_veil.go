package perdure

import (
	"errors"
	"maps"
	"slices"

	"github.com/perdure/perdure/seal"
)

// A tool is given sealed arguments in clear. What it returns goes into memory, so whatever repeats them there is sealed
// for the same subject: to erase the subject erases that, too.

// veil seals what an outcome repeats of what was opened for its call. Where that cannot be told any more, the outcome
// says no more than how the call ended.
func (w *work) veil(o *Outcome) {
	i := slices.IndexFunc(w.a.fold.Open, func(p Open) bool { return p.Decision == o.Decision })
	if i < 0 {
		return
	}
	opened, err := w.opened(&w.a.fold.Open[i])
	if opened == nil && err == nil {
		return
	}
	sealed := func(d Data) Data {
		d, fault := opened.Seal(d)
		err = errors.Join(err, fault)
		return d
	}
	o.Result, o.Set, o.Note = sealed(o.Result), maps.Clone(o.Set), opened.Veil(o.Note)
	for name, value := range o.Set {
		o.Set[name] = sealed(value)
	}
	if err != nil {
		o.Result, o.Set, o.Note = nil, nil, err.Error()
	}
}

// opened is what is opened for the call of an effect; nil if none of its arguments is sealed.
func (w *work) opened(o *Open) (*seal.Opened, error) {
	x, _ := o.Action.(Execute)
	_, opened, err := seal.OpenAll(w.n.Vault, x.Args)
	return opened, err
}

// veiled is what a tool says of an effect without what was opened for its call.
func (w *work) veiled(o *Open, why error) string {
	opened, err := w.opened(o)
	if err != nil {
		return err.Error()
	}
	return opened.Veil(why.Error())
}
