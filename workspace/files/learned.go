package files

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// learned is LEARNINGS.md: a document of that name, and below it what was learned in each month, which is a document
// for each, so that adding to it always costs the same.
type learned struct {
	f   *Folder
	top document
}

var _ source = (*learned)(nil)

// monthHead begins what was learned in a month.
const monthHead = "## "

// month is the document of a month.
func (l *learned) month(name string) *document {
	return &document{l.f, spot{workspace.PrivatePath(l.f.plan.role, learnedDir+"/"+name+".md"),
		workspace.Visibility{Tier: workspace.Private, Scope: l.f.plan.scope}}}
}

// documents are its documents, by month; that of the top has no month.
func (l *learned) documents(ctx context.Context) (map[string]*document, error) {
	all := map[string]*document{"": &l.top}
	prefix := workspace.PrivatePath(l.f.plan.role, learnedDir+"/")
	after := ""
	for {
		docs, err := l.f.Reader.List(ctx, workspace.Listed{Prefix: prefix, Limit: page, After: after})
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			after = d.Path
			if name := strings.TrimSuffix(strings.TrimPrefix(d.Path, prefix), ".md"); isMonth(name) {
				all[name] = l.month(name)
			}
		}
		if len(docs) < page {
			return all, nil
		}
	}
}

// parts are the texts of its documents, by month, and the versions of all.
func (l *learned) parts(ctx context.Context) (parts map[string]string, versions string, err error) {
	all, err := l.documents(ctx)
	if err != nil {
		return nil, "", err
	}
	parts = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, more, ok, err := all[name].now(ctx)
		if err != nil {
			return nil, "", err
		}
		if ok {
			parts[name] = text
			versions += more
		}
	}
	return parts, versions, nil
}

// each calls f with each of its documents, with the file that would be its own, and its text.
func (l *learned) each(ctx context.Context, f func(file string, d *workspace.Document, text string) error) error {
	all, err := l.documents(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		is, err := d.read(ctx)
		if err != nil {
			return err
		}
		if file, ok := l.f.plan.fileOf(d.spot); ok && is != nil {
			if err := f(file, is.Document, is.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined is the page of its parts.
func joined(parts map[string]string) string {
	var b strings.Builder
	if top := trimmed(parts[""]); top != "" {
		b.WriteString(top)
	}
	var months []string
	for name, text := range parts {
		if name != "" && trimmed(text) != "" {
			months = append(months, name)
		}
	}
	slices.Sort(months)
	for _, name := range months {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s%s\n\n%s", monthHead, name, trimmed(parts[name]))
	}
	return b.String()
}

// trimmed is a text without empty lines around it.
func trimmed(text string) string {
	if text = strings.Trim(text, "\n"); text == "" {
		return ""
	}
	return text + "\n"
}

// parted is the parts of a page.
func parted(text string) map[string]string {
	parts := map[string]string{}
	at := ""
	for _, line := range split(text) {
		if name, ok := strings.CutPrefix(line, monthHead); ok && isMonth(strings.TrimSpace(name)) {
			at = strings.TrimSpace(name)
			continue
		}
		parts[at] += line + "\n"
	}
	return parts
}

func (l *learned) now(ctx context.Context) (text, versions string, ok bool, err error) {
	parts, versions, err := l.parts(ctx)
	if err != nil {
		return "", "", false, err
	}
	text = joined(parts)
	return text, versions, text != "", nil
}

func (l *learned) take(ctx context.Context, base *string, versions, text string) (clash string, err error) {
	parts, _, err := l.parts(ctx)
	if err != nil {
		return "", err
	}
	was := joined(parts)
	if base == nil {
		both := strings.Join(common(split(was), split(text)), "\n")
		base = &both
	}
	text, clash = merged(*base, was, text)
	next := parted(text)
	for name := range parts {
		next[name] += "" // whose heading is gone is empty
	}
	for name, text := range next {
		before, known := parts[name]
		if trimmed(text) == trimmed(before) {
			continue
		}
		d := &l.top
		if name != "" {
			d = l.month(name)
		}
		var made *string
		if known {
			made = &before
		}
		if _, err := d.take(ctx, made, versions, trimmed(text)); err != nil {
			return clash, err
		}
	}
	return clash, nil
}

func (l *learned) remove(ctx context.Context, versions string) error {
	parts, _, err := l.parts(ctx)
	if err != nil {
		return err
	}
	seen := namesOf(versions)
	for name := range parts {
		d := &l.top
		if name != "" {
			d = l.month(name)
		}
		_, now, ok, err := d.now(ctx)
		if err == nil && ok {
			for _, one := range namesOf(now) {
				if !slices.Contains(seen, one) {
					return perdure.ErrConflict
				}
			}
			err = d.remove(ctx, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
