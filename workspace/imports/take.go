package imports

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// Imported is what came of an import.
type Imported struct {
	New       int                `json:"new"`
	Changed   int                `json:"changed"`
	Same      int                `json:"same"`
	Kept      int                `json:"kept"`
	Refused   int                `json:"refused"`
	Documents []workspace.Import `json:"documents"` // without those that are the same
	Problems  []Problem          `json:"problems"`
	Left      map[string]int     `json:"left,omitempty"`
}

// Options say how documents are taken in.
type Options struct {
	Visibility *workspace.Visibility // nil: team
	Replace    bool                  // also documents that were written or changed here
	Dry        bool                  // write nothing: say what would be
}

// Take imports a source into memory, and adds what came of it.
func (v *Imported) Take(ctx context.Context, r *workspace.Reader, s Source, o Options) error {
	var some []workspace.Foreign // that are written together
	size := 0
	flush := func() error {
		done, err := r.ImportAll(ctx, some, o.Visibility, o.Replace)
		for _, one := range done {
			v.add(one)
		}
		some, size = some[:0], 0
		return err
	}
	read, err := s.Each(func(x workspace.Foreign) error {
		if o.Dry {
			v.add(workspace.Import{Path: x.Path, Source: x.Source, Status: workspace.ImportNew})
			return ctx.Err()
		}
		some, size = append(some, x), size+len(x.Text)
		if len(some) < workspace.ImportBatch && size < workspace.ImportBytes {
			return ctx.Err()
		}
		return flush()
	})
	if len(some) > 0 { // also of a source that ends in the middle
		err = errors.Join(err, flush())
	}
	v.Problems = append(v.Problems, read.Problems...)
	for what, n := range read.Left {
		if v.Left == nil {
			v.Left = map[string]int{}
		}
		v.Left[what] += n
	}
	return err
}

// Err says that there were documents, and none of them could be imported; nil: something was, or nothing was there.
func (v *Imported) Err() error {
	if v.New+v.Changed+v.Same+v.Kept > 0 || len(v.Problems)+v.Refused == 0 {
		return nil
	}
	return perdure.WithHint(perdure.Invalid(errors.New("nothing was imported")),
		"the lines above say why; if the files are in another format, say which one with --format")
}

func (v *Imported) add(x workspace.Import) {
	counts := map[string]*int{workspace.ImportNew: &v.New, workspace.ImportChanged: &v.Changed,
		workspace.ImportSame: &v.Same, workspace.ImportKept: &v.Kept, workspace.ImportRefused: &v.Refused}
	*counts[x.Status]++
	if x.Status != workspace.ImportSame {
		v.Documents = append(v.Documents, x)
	}
}
