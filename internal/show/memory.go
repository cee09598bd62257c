package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/files"
	"github.com/perdure/perdure/workspace/imports"
)

// Note says something beside the result.
type Note = func(text string)

// Document prints the text of a document, and beside it what a person should know.
func Document(w io.Writer, d *workspace.Document, note Note) error {
	if d.Stale != "" {
		note("stale: its check does not hold: " + d.Stale)
	}
	if _, err := io.WriteString(w, strings.TrimSuffix(d.Text, "\n")+"\n"); err != nil || len(d.Beside) == 0 {
		return err
	}
	var names []string
	for _, h := range d.Beside {
		names = append(names, h.String())
	}
	note("other versions were written at once: read them with --version " + strings.Join(names, ", ") +
		", bring them together, and write with --base for each")
	return nil
}

// Written says which version of a document there is now.
func Written(w io.Writer, d *workspace.Document) error {
	of := ""
	switch v := d.Visibility; v.Tier {
	case workspace.Team, workspace.Public:
		if v.Scope != workspace.DefaultScope {
			of = " of " + v.Scope
		}
	case workspace.Private, workspace.Custom: // it says itself whose it is
	}
	_, err := fmt.Fprintf(w, "%s: version %s, %s%s\n", view.InLine(d.Path), d.Version.Short(), d.Visibility, of)
	return err
}

// maxLinked is how many documents are named that link to where another was.
const maxLinked = 10

// Renamed says which version of a document there is now, and what still links to where it was.
func Renamed(w io.Writer, d *workspace.Document, note Note) error {
	if n := len(d.Linked); n > 0 {
		names := view.InLine(strings.Join(d.Linked[:min(n, maxLinked)], ", "))
		if n > maxLinked {
			names += fmt.Sprintf(" and %d more (all with --json)", n-maxLinked)
		}
		note("what links to its old path leads nowhere now; change the links in " + names)
	}
	return Written(w, d)
}

// Removed says that a document is gone.
func Removed(w io.Writer, d *workspace.Document) error {
	_, err := fmt.Fprintf(w, "%s: removed; its versions stay in memory: perdure doc history lists them, and perdure "+
		"doc read --version shows one\n", view.InLine(d.Path))
	return err
}

// Documents prints documents as a table, with their scopes if these are several.
func Documents(w io.Writer, docs []*workspace.Document) error {
	t := term.Table{Head: []string{"PATH", "TITLE", "KIND", "VISIBILITY", "SCOPE", "SIZE", "WRITTEN", "VERSION"},
		Whole: "PATH", Drop: []string{"SIZE", "VERSION", "KIND", "WRITTEN", "VISIBILITY", "SCOPE", "TITLE"}}
	scope := slices.Index(t.Head, "SCOPE")
	several := slices.ContainsFunc(docs, func(d *workspace.Document) bool {
		return d.Visibility.Scope != docs[0].Visibility.Scope
	})
	if !several {
		t.Head = slices.Delete(t.Head, scope, scope+1)
	}
	now := time.Now()
	for _, d := range docs {
		row := []string{view.InLine(d.Path), titled(d), d.Kind, d.Visibility.String(), d.Visibility.Scope,
			strconv.FormatInt(d.Size, 10), view.Ago(d.Time, now), d.Version.Short()}
		if !several {
			row = slices.Delete(row, scope, scope+1)
		}
		t.Add(row...)
	}
	return t.Write(w)
}

// titled is the title of a document. What is special about it comes first: a narrow terminal cuts the end.
func titled(d *workspace.Document) string {
	title := view.OneLine(d.Title, 60)
	switch {
	case d.Gone:
		return "(removed)"
	case d.Open():
		title = "(open) " + title
	case d.Recovered():
		title = "(recovered) " + strings.TrimSuffix(title, " (recovered)")
	}
	if len(d.Beside) > 0 {
		title = fmt.Sprintf("(%d versions) %s", 1+len(d.Beside), title)
	}
	return title
}

// Connections prints what a document links to, and what links to it.
func Connections(w io.Writer, v *workspace.Connections) error {
	var b strings.Builder
	for _, d := range v.To {
		fmt.Fprintf(&b, "to    %s  %s\n", view.InLine(d.Path), view.OneLine(d.Title, 80))
	}
	for _, t := range v.Other {
		fmt.Fprintf(&b, "to    %s  (not here)\n", view.InLine(t))
	}
	for _, d := range v.From {
		fmt.Fprintf(&b, "from  %s  %s\n", view.InLine(d.Path), view.OneLine(d.Title, 80))
	}
	return term.Say(w, b.String())
}

// Found prints what a search found.
func Found(w io.Writer, found []*workspace.Found) error {
	var b strings.Builder
	for _, f := range found {
		where := f.Path
		if where == "" {
			where = fmt.Sprintf("%s@%d", view.CommandName(f.Called, f.Agent), f.Seq)
		}
		fmt.Fprintf(&b, "%s  %s", view.InLine(where), view.OneLine(f.Kind, 40))
		if f.Time != 0 { // what begins the memory of a role has none
			fmt.Fprintf(&b, "  %s", f.Time.Go().Local().Format("2006-01-02 15:04"))
		}
		if f.Title != "" {
			fmt.Fprintf(&b, "  %s", view.OneLine(f.Title, 80))
		}
		fmt.Fprintf(&b, "\n    %s\n", view.OneLine(f.Snippet, 400))
	}
	if len(found) == 0 {
		b.WriteString("nothing found\n")
	}
	return term.Say(w, b.String())
}

// Imported says what was imported; what was not goes beside it, line by line.
func Imported(w io.Writer, v *imports.Imported, note Note) error {
	for _, p := range v.Problems {
		note(p.String())
	}
	var b strings.Builder
	for _, d := range v.Documents {
		if d.Why != "" {
			note(d.Source + ": " + d.Status + ": " + d.Why)
			continue
		}
		fmt.Fprintf(&b, "%-8s %s\n", d.Status, view.InLine(d.Path))
	}
	fmt.Fprintf(&b, "%d new, %d changed, %d the same", v.New, v.Changed, v.Same)
	if v.Kept > 0 {
		fmt.Fprintf(&b, ", %d kept as they are here", v.Kept)
	}
	if n := len(v.Problems) + v.Refused; n > 0 {
		b.WriteString(", " + view.Several(int64(n), "problem"))
	}
	b.WriteString("\n")
	if left := (&imports.Read{Left: v.Left}).Counts(); len(left) > 0 {
		fmt.Fprintf(&b, "left out: %s\n", strings.Join(left, ", "))
	}
	return term.Say(w, b.String())
}

// wouldBe are what becomes of files as what a sync would do.
var wouldBe = map[string]string{files.Taken: "take", files.Conflict: "merge", files.Written: "write",
	files.Removed: "remove", files.Deleted: "delete", files.Renamed: "rename", files.PutBack: "put back",
	files.Refused: "refuse", files.Waits: "wait for"}

// Synced says what a sync of a folder did, or would do; else that all is as still says.
func Synced(w io.Writer, r *files.Report, still string, note Note) error {
	for _, text := range r.Notes {
		note(text)
	}
	var b strings.Builder
	for _, x := range r.Changes {
		status := x.Status
		if r.Dry {
			status = "would " + wouldBe[status]
		}
		fmt.Fprintf(&b, "%-9s %s", status, view.InLine(x.File))
		if x.Why != "" {
			b.WriteString(": " + view.OneLine(x.Why, 200))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s: %s of %s", view.InLine(r.Dir), view.Several(int64(r.Files), "file"), r.Role)
	if len(r.Changes) == 0 {
		b.WriteString(", " + still)
	}
	if r.Dry && len(r.Changes) > 0 {
		b.WriteString("; nothing was changed: perdure files sync does it")
	}
	if r.Commit != "" {
		b.WriteString(", committed as " + r.Commit)
	}
	return term.Say(w, b.String()+"\n")
}
