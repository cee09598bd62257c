package bench

import (
	"cmp"
	"context"
	"slices"
)

// Turns measures appends to one store or several, each beside its floor, in rounds: all take turns, so that a
// disturbance hits all of them.
type Turns struct {
	Places []*Place
	Lines  []Appends
	Rounds int
	Done   func(runs, of int)
}

// Run measures every line on every store, each time in a store of its own.
func (t *Turns) Run(ctx context.Context) (Run, error) {
	runs := make([][]*Figures, len(t.Places)*len(t.Lines))
	done := 0
	for range t.Rounds {
		for i := range runs {
			p := t.Places[i%len(t.Places)]
			f, err := t.one(ctx, p, t.Lines[i/len(t.Places)])
			if err != nil {
				return nil, err
			}
			if len(t.Places) > 1 {
				f.Settings["store"] = f.Store
			}
			runs[i] = append(runs[i], f)
			done++
			t.Done(done, t.Rounds*len(runs))
		}
	}
	var out Run
	for _, of := range runs {
		out = append(out, middle(of))
	}
	return out, nil
}

// one measures a line on a store.
func (t *Turns) one(ctx context.Context, p *Place, line Appends) (f *Figures, err error) {
	err = p.With(func() error {
		line.Dir, line.Sync = p.Dir, p.Sync.String()
		if f, err = line.Run(ctx, p.Open, p.Baseline()); err == nil {
			p.Label(f)
		}
		return err
	})
	return f, err
}

// middle is the run with the median rate. How much slower it is than its floor is the median of what each round came
// to: the two of a round ran one after the other.
func middle(of []*Figures) *Figures {
	ratio, floor := medianOf(of, func(f *Figures) float64 { return f.Ratio }),
		medianOf(of, func(f *Figures) float64 { return f.FloorRate })
	others := slices.Clone(of[0].Others)
	for i := range others {
		others[i].Ratio = medianOf(of, func(f *Figures) float64 { return f.Others[i].Ratio })
		others[i].PerSecond = medianOf(of, func(f *Figures) float64 { return f.Others[i].PerSecond })
	}
	slices.SortFunc(of, func(a, b *Figures) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
	f := of[len(of)/2]
	f.Ratio, f.FloorRate = ratio, floor
	f.Others = others
	return f
}

func medianOf(of []*Figures, value func(*Figures) float64) float64 {
	all := make([]float64, len(of))
	for i, f := range of {
		all[i] = value(f)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
