package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// Measured is what a workload came to.
type Measured interface{ Tables() []Table }

// Host is the program that measures.
type Host struct {
	Out   io.Writer                                      // where a process that is measured answers
	Done  func(what string, n, of int)                   // is told how far it has come
	Given func(param string) bool                        // whether somebody said what a parameter is
	Do    func(ctx context.Context, args []string) error // does what the program does with arguments, and says nothing
}

// Workload is one benchmark, as people ask for it.
type Workload struct {
	Name   string
	Place  *Place // where its store is; nil: it needs none
	OnDisk string // why its store is in a folder and nowhere else; empty: it may be
	Params []Param
	Refuse func() error // what it is asked for that cannot be; nil: nothing
	Run    func(ctx context.Context) (Measured, error)
}

// Param is what people may change of a workload. To points to it, with its default: *int, *[]int, *time.Duration,
// *bool, *string or *[]string.
type Param struct {
	Name   string
	To     any
	Least  int      // of a number
	Most   int      // of a number; zero: any
	Of     []string // the words that a text is one of; nil: any
	Usage  string
	Hidden bool // a workload calls itself with it
}

// maxBytes is how much of an entry may be data: the rest of the body needs room, too.
const maxBytes = perdure.MaxBody - 4<<10

// payload is a parameter for the bytes that an entry is to hold.
func payload(to *int, name string, least int, usage string) Param {
	return Param{Name: name, To: to, Least: least, Most: maxBytes, Usage: usage}
}

// Check refuses what cannot be measured.
func (w *Workload) Check() error {
	if p := w.Place; p != nil {
		switch err := p.Check(); {
		case err != nil:
			return err
		case w.OnDisk != "" && p.InMemory():
			return errors.New(w.OnDisk + "; name a folder with --store")
		case w.OnDisk != "" && p.OnServer():
			return errors.New("this workload measures a file; name a folder with --store")
		}
	}
	for i := range w.Params {
		if err := w.Params[i].check(); err != nil {
			return err
		}
	}
	if w.Refuse == nil {
		return nil
	}
	return w.Refuse()
}

// check refuses a number that is too small or too large.
func (p *Param) check() error {
	var all []int
	switch to := p.To.(type) {
	case *int:
		all = []int{*to}
	case *[]int:
		if all = *to; len(all) == 0 {
			return fmt.Errorf("--%s: name at least one number", p.Name)
		}
	case *time.Duration:
		if *to <= 0 {
			return fmt.Errorf("--%s: want more than zero", p.Name)
		}
	}
	for _, n := range all {
		if p.Most > 0 && n > p.Most {
			return fmt.Errorf("--%s %d: want %d to %d bytes", p.Name, n, p.Least, p.Most)
		}
		if n < p.Least {
			return fmt.Errorf("--%s %d: want at least %d", p.Name, n, p.Least)
		}
	}
	return nil
}

// synced adds to a workload how its store is to be written.
func (w *Workload) synced() *Workload {
	level := sqlite.Full.String()
	w.Params = append(w.Params, Param{Name: "sync", To: &level, Of: []string{level, sqlite.Normal.String()},
		Usage: "what an acknowledged write survives: full a power cut, normal only kill -9"})
	refuse := w.Refuse
	w.Refuse = func() (err error) {
		if w.Place.Sync, err = sqlite.ParseSync(level); err != nil || refuse == nil {
			return err
		}
		return refuse()
	}
	return w
}

// lines measures each line in a folder of its own.
func (p *Place) lines(n int, line func(i int) (*Figures, error)) (Measured, error) {
	var run Run
	for i := range n {
		err := p.With(func() error {
			f, err := line(i)
			if err == nil {
				p.Label(f)
				run = append(run, f)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return run, nil
}

// in measures in a folder of its own.
func in[T Measured](p *Place, measure func() (T, error)) (r Measured, err error) {
	err = p.With(func() (err error) {
		r, err = measure()
		return err
	})
	return r, err
}
