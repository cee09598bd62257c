package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/imports"
)

// imported is what came of an import.
type imported struct {
	New       int                `json:"new"`
	Changed   int                `json:"changed"`
	Same      int                `json:"same"`
	Kept      int                `json:"kept"`
	Refused   int                `json:"refused"`
	Documents []workspace.Import `json:"documents"` // without those that are the same
	Problems  []imports.Problem  `json:"problems"`
	Left      map[string]int     `json:"left,omitempty"`
}

func docImportCommand() *cobra.Command {
	c := command("doc import", cobra.MinimumNArgs(1))
	m := newMemory(c).visibility("who sees it (default: team)")
	format := &choice{imports.Auto, imports.Formats()}
	choiceFlag(c, format, "format", "what the files are in")
	to := c.Flags().String("to", "", "the folder that documents go below (default: that of their format)")
	replace := c.Flags().Bool("replace", false, "replace documents that were written or changed here, too")
	dry := c.Flags().Bool("dry-run", false, "write nothing; say what would be imported, and what cannot be read")
	c.RunE = func(c *cobra.Command, args []string) error {
		on, err := m.given()
		if err != nil {
			return err
		}
		return m.use(!*dry, func(ctx context.Context, r *workspace.Reader) error {
			var v imported
			for _, path := range args {
				s := imports.Source{Path: path, Format: format.value, To: *to}
				if err := v.take(ctx, r, s, on, *replace, *dry); err != nil {
					return err
				}
			}
			return m.out.print(&v, func(w io.Writer) error { return v.write(w, c) })
		})
	}
	return c
}

// take imports a source.
func (v *imported) take(ctx context.Context, r *workspace.Reader, s imports.Source, on *workspace.Visibility, replace,
	dry bool) error {
	read, err := s.Each(func(x workspace.Foreign) error {
		if dry {
			v.add(workspace.Import{Path: x.Path, Source: x.Source, Status: workspace.ImportNew})
			return ctx.Err()
		}
		done, err := r.Import(ctx, x, on, replace)
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

func (v *imported) add(x workspace.Import) {
	counts := map[string]*int{workspace.ImportNew: &v.New, workspace.ImportChanged: &v.Changed,
		workspace.ImportSame: &v.Same, workspace.ImportKept: &v.Kept, workspace.ImportRefused: &v.Refused}
	*counts[x.Status]++
	if x.Status != workspace.ImportSame {
		v.Documents = append(v.Documents, x)
	}
}

// write says what was imported, for people; what was not goes beside it, line by line.
func (v *imported) write(w io.Writer, c *cobra.Command) error {
	for _, p := range v.Problems {
		note(c, "%s", p)
	}
	var b strings.Builder
	for _, d := range v.Documents {
		if d.Why != "" {
			note(c, "%s: %s: %s", d.Source, d.Status, d.Why)
			continue
		}
		fmt.Fprintf(&b, "%-8s %s\n", d.Status, view.InLine(d.Path))
	}
	fmt.Fprintf(&b, "%d new, %d changed, %d the same", v.New, v.Changed, v.Same)
	if v.Kept > 0 {
		fmt.Fprintf(&b, ", %d kept as they are here", v.Kept)
	}
	if n := len(v.Problems) + v.Refused; n > 0 {
		fmt.Fprintf(&b, ", %d problems", n)
	}
	b.WriteString("\n")
	if left := (&imports.Read{Left: v.Left}).Counts(); len(left) > 0 {
		fmt.Fprintf(&b, "left out: %s\n", strings.Join(left, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
