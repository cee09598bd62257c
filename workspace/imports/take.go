package imports

import (
	"context"

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
	read, err := s.Each(func(x workspace.Foreign) error {
		if o.Dry {
			v.add(workspace.Import{Path: x.Path, Source: x.Source, Status: workspace.ImportNew})
			return ctx.Err()
		}
		done, err := r.Import(ctx, x, o.Visibility, o.Replace)
		if err == nil {
			v.add(done)
		}
		return err
	})
	v.Problems = append(v.Problems, read.Problems...)
	for what, n := range read.Left {
		if v.Left == nil {
			v.Left = map[string]int{}
		}
		v.Left[what] += n
	}
	return err
}

func (v *Imported) add(x workspace.Import) {
	counts := map[string]*int{workspace.ImportNew: &v.New, workspace.ImportChanged: &v.Changed,
		workspace.ImportSame: &v.Same, workspace.ImportKept: &v.Kept, workspace.ImportRefused: &v.Refused}
	*counts[x.Status]++
	if x.Status != workspace.ImportSame {
		v.Documents = append(v.Documents, x)
	}
}
