package workspace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Listed selects documents. Zero fields select all that the reader may see.
type Listed struct {
	Prefix     string // of the path
	Kind       string
	Tag        string
	Visibility *Visibility
	Since      time.Time
	Limit      int    // zero: 100
	After      string // the path that the page before ended with
}

// Nothing says that a list is empty: of one that was to have all documents, how to begin.
func (l Listed) Nothing() string {
	if l.Limit = 0; l == (Listed{}) {
		return "there are no documents yet; perdure doc write PATH TEXT writes one"
	}
	return "no document is like that"
}

// List is the current documents that are selected, by path, without their texts. Several current versions of one are
// one, with Beside.
func (r *Reader) List(ctx context.Context, l Listed) ([]*Document, error) {
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	if r, err = r.once(ctx); err != nil {
		return nil, err
	}
	shelves = slices.DeleteFunc(shelves, func(s shelf) bool { return !l.Visibility.covers(s.Visibility) })
	limit := l.Limit
	if limit <= 0 {
		limit = 100
	}
	var all []*Document
	after := l.After
	for len(all) < limit {
		where, args := "v.gone=0 AND v.path>?", []any{after}
		if l.Prefix != "" {
			where, args = where+" AND v.path>=? AND v.path<?", append(args, l.Prefix, l.Prefix+"\U0010ffff")
		}
		if l.Kind != "" {
			where, args = where+" AND v.kind=?", append(args, l.Kind)
		}
		if !l.Since.IsZero() {
			where, args = where+" AND v.at>=?", append(args, int64(perdure.TimeOf(l.Since)))
		}
		page := 2*limit + 16
		found, err := r.Index.current(ctx, shelves, where+" ORDER BY v.path, v.seq DESC, v.entry LIMIT ?",
			append(args, page)...)
		if err != nil {
			return nil, err
		}
		full := len(found) == page
		if full { // the last path may go on
			last := found[len(found)-1].path
			if cut := slices.IndexFunc(found, func(v *version) bool { return v.path == last }); cut > 0 {
				found = found[:cut]
			}
		}
		if len(found) == 0 {
			break
		}
		after = found[len(found)-1].path
		if all, err = r.gather(ctx, all, unexpired(found), l.Tag, limit); err != nil {
			return nil, err
		}
		if !full {
			break
		}
	}
	return all, nil
}

// gather adds the documents of versions that the reader may read: several versions are one document.
func (r *Reader) gather(ctx context.Context, all []*Document, found []*version, tag string, limit int) ([]*Document,
	error) {
	r, err := r.once(ctx)
	if err != nil {
		return nil, err
	}
	byPath := map[string][]*Document{}
	for _, v := range found {
		if len(all) == limit && byPath[v.path] == nil {
			break
		}
		if tag != "" && !slices.Contains(v.tags, tag) || r.may(ctx, v.shelf, v.path, v.kind, false) != nil {
			continue
		}
		if i := slices.IndexFunc(byPath[v.path], func(d *Document) bool {
			return (&shelf{agent: d.Agent, Visibility: d.Visibility}).samePlace(v.shelf)
		}); i >= 0 {
			byPath[v.path][i].Beside = append(byPath[v.path][i].Beside, v.entry)
			continue
		}
		if len(all) == limit {
			break
		}
		d := r.document(v)
		all, byPath[v.path] = append(all, d), append(byPath[v.path], d)
	}
	return all, nil
}

const (
	// linkedTo selects what links to one of two targets.
	linkedTo = "v.gone=0 AND v.id IN (SELECT version FROM link WHERE target IN (?,?)) " +
		"ORDER BY v.path LIMIT 1000"
	// arrivedSince selects what came after one row and up to another.
	arrivedSince = "v.id>? AND v.id<=? ORDER BY v.path"
)

// Linked are the documents that link to a path, or to an agent by its id.
func (r *Reader) Linked(ctx context.Context, path string) ([]*Document, error) {
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/"), "memories/")
	found, err := r.Index.currentNumbered(ctx, shelves, linkedTo, path, strings.TrimSuffix(path, ".md"))
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(v *version) bool { // what a promotion left at the same path
		return v.path == path && slices.Contains(v.tags, MovedTag)
	})
	return r.gather(ctx, nil, unexpired(found), "", 1000)
}

// Links are the documents that a document links to, as far as the reader may see them, and the targets that are none.
func (r *Reader) Links(ctx context.Context, d *Document) (docs []*Document, others []string, err error) {
	targets := append(linksIn(d.Text), d.Links...)
	slices.Sort(targets)
	for _, t := range slices.Compact(targets) {
		found, err := r.current(ctx, t, nil)
		if err == nil && len(found) == 0 && !strings.HasSuffix(t, ".md") {
			found, err = r.current(ctx, t+".md", nil)
		}
		if err != nil && !errors.Is(err, perdure.ErrInvalid) { // several other scopes have it
			return nil, nil, err
		}
		if len(found) == 0 {
			others = append(others, t)
			continue
		}
		docs = append(docs, r.document(found[0]))
	}
	return docs, others, nil
}

// Connections are what a document links to, and what links to it.
type Connections struct {
	Path  string      `json:"path"`
	To    []*Document `json:"to"`
	Other []string    `json:"other,omitempty"` // targets that are no documents here
	From  []*Document `json:"from"`
}

// Connections are those of the document at a path.
func (r *Reader) Connections(ctx context.Context, path string, on *Visibility) (*Connections, error) {
	d, err := r.Read(ctx, path, on)
	if err != nil {
		return nil, err
	}
	v := &Connections{Path: d.Path}
	if v.To, v.Other, err = r.Links(ctx, d); err == nil {
		v.From, err = r.Linked(ctx, d.Path)
	}
	return v, err
}

// maxSince bounds how many changes Since tells of.
const maxSince = 1000

// Since is the documents of which versions arrived since a mark, gone ones among them, without their texts, and the
// mark for the next call. Whole says that it cannot tell, because the mark is of no index, or of another, or too much
// has changed: then all documents must be listed. What expired since is not among them.
func (r *Reader) Since(ctx context.Context, mark int64) (docs []*Document, next int64, whole bool, err error) {
	if err := r.sync(ctx); err != nil {
		return nil, 0, false, err
	}
	if err := r.Index.db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM version").Scan(&next); err != nil {
		return nil, 0, false, err
	}
	if mark <= 0 || next < mark || next-mark > maxSince {
		return nil, next, true, nil
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, 0, false, err
	}
	found, err := r.Index.numbered(ctx, shelves, arrivedSince, mark, next)
	if err == nil {
		r, err = r.once(ctx)
	}
	if err != nil {
		return nil, 0, false, err
	}
	for _, v := range found {
		if r.may(ctx, v.shelf, v.path, v.kind, false) == nil {
			docs = append(docs, r.document(v))
		}
	}
	return docs, next, false, nil
}
