package files

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// derived is a page that follows from memory, with notes of people below a mark: the notes are a document. What people
// write above the mark is moved below it; what they take away there comes back.
type derived struct {
	notes  document
	mark   string
	derive func(ctx context.Context) (string, error)
}

var _ source = (*derived)(nil)

// The marks below which notes are.
const (
	notesMark  = "## Notes"
	notesWords = "NOTES"
)

func (p *derived) now(ctx context.Context) (text, versions string, ok bool, err error) {
	above, err := p.derive(ctx)
	if err != nil {
		return "", "", false, err
	}
	notes, versions, _, err := p.notes.now(ctx)
	if err != nil {
		return "", "", false, err
	}
	return above + p.mark + "\n" + notes, versions, true, nil
}

// cut is a page above and below its mark.
func (p *derived) cut(text string) (above []string, below string) {
	lines := split(text)
	i := slices.Index(lines, p.mark)
	if i < 0 {
		return lines, ""
	}
	if i+1 < len(lines) {
		below = strings.Join(lines[i+1:], "\n") + "\n"
	}
	return lines[:i], below
}

func (p *derived) take(ctx context.Context, base *string, versions, text string) (clash string, err error) {
	above, notes := p.cut(text)
	var was []string
	var wasNotes *string
	if base == nil {
		s, err := p.derive(ctx)
		if err != nil {
			return "", err
		}
		was = split(s)
	} else {
		lines, below := p.cut(*base)
		was, wasNotes = lines, &below
	}
	in := make([]bool, len(above))
	for _, m := range matches(was, above) {
		for n := range m.n {
			in[m.b+n] = true
		}
	}
	var said map[string]bool
	if base != nil { // else it is of a memory that is gone, and all there is
		if said, err = p.notes.f.saidOfTasks(ctx); err != nil {
			return "", err
		}
	}
	for i, line := range above {
		if !in[i] && !p.ours(line) && !said[line] {
			if notes != "" && !ended(notes) {
				notes += "\n"
			}
			notes += line + "\n"
		}
	}
	if wasNotes != nil && notes == *wasNotes || wasNotes == nil && notes == "" {
		return "", nil
	}
	return p.notes.take(ctx, wasNotes, versions, notes)
}

// ours reports whether a line is one that pages have, whatever they say.
func (p *derived) ours(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line == p.mark || slices.Contains(frame, line)
}

func (p *derived) remove(context.Context, string) error { return nil }

// The lines of pages that say nothing by themselves.
const (
	errorsHead   = "# Errors"
	errorsAbout  = "What did not go well, newest first, as memory has it. What you write under Notes is kept."
	noErrors     = "None."
	activeHead   = "ACTIVE"
	lastHead     = "LAST COMPLETED"
	blockersHead = "BLOCKERS"
	nothing      = "- none"
)

var frame = []string{errorsHead, errorsAbout, noErrors, activeHead, lastHead, blockersHead, nothing, "what: -",
	"files: -", "outcome: -", "next: -"}

// pages are the files that follow from memory.
func (s *syncing) pages() {
	note := func(name string) document {
		return document{s.Folder, spot{workspace.PrivatePath(s.plan.role, name),
			workspace.Visibility{Tier: workspace.Private, Scope: s.plan.scope}}}
	}
	s.sources[progressName] = &derived{note(progressName), notesWords, s.progress}
	s.sources[errorsName] = &derived{note(errorsName), notesMark, s.failures}
	s.sources[learnedName] = &learned{s.Folder, note(learnedName)}
	for _, name := range []string{progressName, errorsName, learnedName} {
		delete(s.current, name)
	}
}

const (
	maxFailures = 100                 // how many ERRORS.md lists of each sort
	recentDays  = 30 * 24 * time.Hour // how far back it goes for records of errors
)

// failures is ERRORS.md, without its notes.
func (f *Folder) failures(ctx context.Context) (string, error) {
	found, err := f.deeds(ctx, "failing=1", maxFailures)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\n", errorsHead, errorsAbout)
	for _, d := range found {
		fmt.Fprintf(&b, "- %s %s: %s (entry %s)\n", stampOf(d.at), d.told, d.what, d.entry.Short())
	}
	prefix := workspace.PrivatePath(f.plan.role, "errors/")
	docs, err := f.Reader.List(ctx, workspace.Listed{Prefix: prefix, Tag: "error", Limit: maxFailures,
		After: prefix + time.Now().Add(-recentDays).UTC().Format("20060102T150405Z")})
	if err != nil {
		return "", err
	}
	for _, d := range slices.Backward(docs) {
		fmt.Fprintf(&b, "- %s %s ([[%s]])\n", stampOf(d.Time), view.OneLine(d.Title, maxLine), d.Path)
	}
	if len(found)+len(docs) == 0 {
		b.WriteString(noErrors + "\n")
	}
	b.WriteString("\n")
	return b.String(), nil
}

func stampOf(t perdure.Time) string { return t.Go().UTC().Format("2006-01-02 15:04") }

// progress is progress.txt, without its notes.
func (f *Folder) progress(ctx context.Context) (string, error) {
	active, next, err := f.tasksOpen(ctx)
	if err != nil {
		return "", err
	}
	last, err := f.lastDone(ctx)
	if err != nil {
		return "", err
	}
	blockers, err := f.blockers(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	part := func(head, what, files, outcome, next string) {
		fmt.Fprintf(&b, "%s\nwhat: %s\nfiles: %s\noutcome: %s\nnext: %s\n\n", head, or(what), or(files), or(outcome),
			or(next))
	}
	outcome := ""
	if active != "" {
		outcome = "open"
	}
	part(activeHead, active, "", outcome, next)
	part(lastHead, last.what, last.files, last.told, active)
	b.WriteString(blockersHead + "\n")
	for _, line := range blockers {
		b.WriteString("- " + line + "\n")
	}
	if len(blockers) == 0 {
		b.WriteString(nothing + "\n")
	}
	b.WriteString("\n")
	return b.String(), nil
}

// done is something that was completed, as progress.txt says it.
type done struct{ what, files, told string }

// lastDone is what was completed last: a deed, or a task that somebody ticked since. A stamp says the day alone: of one
// day, the deed was last if the list was not written after it.
func (f *Folder) lastDone(ctx context.Context) (d done, err error) {
	deeds, err := f.deeds(ctx, "failing=0 AND told<>'"+sessionEdited+"'", 1)
	if err != nil {
		return d, err
	}
	if len(deeds) > 0 {
		d = done{deeds[0].what, deeds[0].files, deeds[0].told + ", " + stampOf(deeds[0].at)}
	}
	src := f.list(tasksName)
	doc, err := src.read(ctx)
	if doc == nil || err != nil {
		return d, err
	}
	list, err := tasks.Parse(tasksName, []byte(doc.text))
	if err != nil {
		return d, nil // it is no list now
	}
	if t := list.Last(); t != nil && (len(deeds) == 0 || doc.Time > deeds[0].at &&
		t.Day >= deeds[0].at.Go().Local().Format(time.DateOnly)) {
		d = done{view.OneLine(t.Title, maxLine), "", doneOn(t)}
	}
	return d, nil
}

// doneOn says when a task was done.
func doneOn(t *tasks.Task) string { return "done, " + t.Day }

// list is one of the role's lists of tasks.
func (f *Folder) list(name string) document {
	return document{f, spot{workspace.PrivatePath(f.plan.role, name),
		workspace.Visibility{Tier: workspace.Private, Scope: f.plan.scope}}}
}

func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// saidOfTasks are the lines that a page may have of the tasks that memory knows: somebody else's has others of them.
func (f *Folder) saidOfTasks(ctx context.Context) (map[string]bool, error) {
	said := map[string]bool{"outcome: open": true}
	for _, name := range []string{tasksName, "prd.json", featuresName} {
		d := f.list(name)
		text, _, _, err := d.now(ctx)
		if err != nil {
			return nil, err
		}
		list, err := tasks.Parse(name, []byte(text))
		if err != nil {
			continue // it is no list now
		}
		for _, t := range list.Tasks {
			title := view.OneLine(t.Title, maxLine)
			said["what: "+title], said["next: "+title], said["- "+title] = true, true, true
			said["outcome: "+doneOn(&t)] = true
		}
	}
	return said, nil
}

// tasksOpen are the first two tasks that are not done.
func (f *Folder) tasksOpen(ctx context.Context) (first, second string, err error) {
	for _, name := range []string{tasksName, "prd.json", featuresName} {
		d := f.list(name)
		text, _, ok, err := d.now(ctx)
		if err != nil {
			return "", "", err
		}
		if !ok {
			continue
		}
		list, err := tasks.Parse(name, []byte(text))
		if err != nil {
			continue // it is no list now; the file itself shows what is wrong
		}
		for _, t := range list.Tasks {
			switch {
			case t.Done || t.Blocked():
			case first == "":
				first = view.OneLine(t.Title, maxLine)
			default:
				return first, view.OneLine(t.Title, maxLine), nil
			}
		}
		if first != "" {
			return first, "", nil
		}
	}
	return first, second, nil
}

// blockers are what waits for a person, and tasks that are not done under a heading that says that they are blocked.
func (f *Folder) blockers(ctx context.Context) ([]string, error) {
	a, err := f.Reader.Node.Load(ctx, f.Reader.Agent())
	if err != nil {
		return nil, err
	}
	waits, err := view.Waits(ctx, f.Reader.Store, a, f.Reader.Node.Trusted(), f.Reader.Node.Key.Key(), time.Now())
	if err != nil {
		return nil, err
	}
	var all []string
	for _, w := range waits {
		line := w.Kind + ": " + view.OneLine(w.What, maxLine)
		if w.Answer != "" {
			line += " (" + view.OneLine(w.Answer, maxLine) + ")"
		}
		all = append(all, line)
	}
	src := f.list(tasksName)
	text, _, _, err := src.now(ctx)
	if err != nil {
		return nil, err
	}
	if list, err := tasks.Parse(tasksName, []byte(text)); err == nil { // else it is no list now
		for _, t := range list.Tasks {
			if !t.Done && t.Blocked() {
				all = append(all, view.OneLine(t.Title, maxLine))
			}
		}
	}
	return all, nil
}
