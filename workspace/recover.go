package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// maxRecovered bounds how much of a session a recovered summary quotes.
const maxRecovered = 20

// Recover writes the summaries of sessions that never closed: those of the role; for the owner, those of every role.
// What a process that lives has open is left alone.
func (r *Reader) Recover(ctx context.Context) ([]*Document, error) {
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	return r.recoverAll(ctx, func(id perdure.AgentID) bool { return r.agent.IsZero() || id == r.agent }, false)
}

// recoverAll recovers what roles that are asked for left open; dead: only of processes that are known to have ended.
func (r *Reader) recoverAll(ctx context.Context, of func(perdure.AgentID) bool, dead bool) (all []*Document,
	err error) {
	found, err := r.Index.unclosed(ctx)
	for _, id := range found {
		if err != nil || !of(id) {
			continue
		}
		a, err := r.Node.Load(ctx, id)
		if err != nil {
			continue // it does not count here
		}
		as, err := r.For(ctx, a)
		if err != nil || r.only != "" && as.scope != r.only {
			continue
		}
		shelves, err := as.shelves(ctx)
		if own := as.ownShelf(shelves); err == nil && own != nil {
			var done []*Document
			done, _, err = as.recover(ctx, own, shelves, dead)
			all = append(all, done...)
		}
		if err != nil {
			return all, err
		}
	}
	return all, err
}

// recover writes the summaries of sessions that never closed. On are those that may still go on.
func (r *Reader) recover(ctx context.Context, own *shelf, shelves []shelf, dead bool) (done []*Document, on []string,
	err error) {
	open, err := r.Index.current(ctx, []shelf{*own}, "v.tags='open' AND v.kind=? ORDER BY v.id",
		KindSession)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range open {
		over, err := r.over(ctx, v, own, dead)
		if err != nil {
			return nil, nil, err
		}
		if !over {
			on = append(on, v.path)
			continue
		}
		text, err := r.retell(ctx, v, own, shelves)
		if err != nil {
			return nil, nil, err
		}
		d, err := r.Write(ctx, Draft{Path: v.path, Kind: KindSession, Title: v.title + " (recovered)", Text: text,
			Tags: []string{recoveredTag}, Base: []perdure.Hash{v.entry}})
		if errors.Is(err, perdure.ErrConflict) {
			continue // it was closed meanwhile, or recovered by another
		}
		if err != nil {
			return nil, nil, err
		}
		done = append(done, d)
	}
	return done, on, nil
}

// over reports whether an open session has ended without saying so: its process is gone, or nothing was heard of the
// role for long; dead: only the former.
func (r *Reader) over(ctx context.Context, v *version, own *shelf, dead bool) (bool, error) {
	if r.Alive != nil {
		if lives, known := r.Alive.Lives(aliveName(v.path)); known {
			return !lives, nil
		}
	}
	if dead {
		return false, nil
	}
	last := v.at
	newest, err := r.Index.versions(ctx, []shelf{*own}, "1 ORDER BY v.id DESC LIMIT 1")
	if err == nil && len(newest) > 0 {
		last = max(last, newest[0].at)
	}
	return time.Since(last.Go()) > idleSession, err
}

// retell is what the memory of a role says of a session: what was written, and what was said.
func (r *Reader) retell(ctx context.Context, v *version, own *shelf, shelves []shelf) (string, error) {
	until := int64(perdure.TimeOf(time.Now()))
	next, err := r.Index.versions(ctx, []shelf{*own}, "v.kind=? AND v.id>? AND v.path<>? ORDER BY v.id LIMIT 1",
		KindSession, v.id, v.path)
	if err != nil {
		return "", err
	}
	if len(next) > 0 {
		until = int64(next[0].at)
	}
	docs, err := r.Index.numbered(ctx, shelves, "v.at>=? AND v.at<=? AND v.id>? AND v.kind<>? AND (v.agent=? OR v.by "+
		"LIKE ?) ORDER BY v.id DESC LIMIT ?",
		int64(v.at), until, v.id, KindSession, own.row, "%"+r.role+" for %", maxRecovered)
	if err != nil {
		return "", err
	}
	said, err := r.saidBetween(ctx, own, int64(v.at), until)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s (recovered)\n\nThis session never closed. What follows is taken from memory.\n", v.title)
	slices.Reverse(docs)
	var wrote []string
	for _, d := range docs {
		wrote = append(wrote, fmt.Sprintf("[[%s]] %s", d.path, d.title))
	}
	writeList(&b, "Documents written", wrote)
	writeList(&b, "Last said", said)
	if len(wrote)+len(said) == 0 {
		b.WriteString("\nNothing was written or said in it.\n")
	}
	return b.String(), nil
}

// saidBetween is the last of what was said to and by an agent in a time.
func (r *Reader) saidBetween(ctx context.Context, own *shelf, from, until int64) ([]string, error) {
	rows, err := r.Index.db.QueryContext(ctx, "SELECT words.body FROM item i JOIN words ON words.rowid=i.id WHERE "+
		"i.id IN (SELECT id FROM item WHERE agent=? AND version IS NULL "+
		"AND at>=? AND at<=? AND kind=? ORDER BY id DESC LIMIT ?) ORDER BY i.id", own.row, from, until, KindTurn,
		maxRecovered)
	if err != nil {
		return nil, err
	}
	var all []string
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		all = append(all, clip(strings.Join(strings.Fields(joined(body)), " "), 200))
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// stale are the documents whose checks do not hold any more, of those written by somebody this home trusts to own:
// nobody else's checks are run.
func (r *Reader) stale(ctx context.Context, shelves []shelf, o *Opening) ([]*Document, error) {
	if r.Holds == nil {
		return nil, nil
	}
	found, err := r.Index.current(ctx, shelves, "v.gone=0 AND v.proof<>'' ORDER BY v.id DESC LIMIT ?",
		maxChecks)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	a, err := r.self(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var stale []*Document
	for _, v := range unexpired(found) {
		if r.may(ctx, v.shelf, v.path, v.kind, false) != nil {
			continue
		}
		why, err := r.hold(ctx, a, v)
		if err != nil {
			o.Notes = append(o.Notes, fmt.Sprintf("%s was not checked: %v", v.path, err))
			continue
		}
		if why != "" {
			d := r.document(v)
			d.Stale = why
			stale = append(stale, d)
		}
	}
	return stale, nil
}

// mark marks a document that is read, if its check does not hold: as when a session opens, but runs no command. What
// nobody can tell is not marked.
func (r *Reader) mark(ctx context.Context, d *Document) {
	if r.Holds == nil || d.Check == "" || strings.HasPrefix(d.Check, "run ") ||
		!r.Node.Trusted().Allows(d.Author, perdure.MayOwn, d.Visibility.Scope) {
		return
	}
	var a *perdure.Agent
	if !r.agent.IsZero() {
		var err error
		if a, err = r.self(ctx); err != nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	d.Stale, _ = r.Holds.Hold(ctx, a, d.Check)
}

const (
	maxChecks = 100
	checkTime = 30 * time.Second
)

// hold runs the check of a version. Whose check it is, the entry says, not the index.
func (r *Reader) hold(ctx context.Context, a *perdure.Agent, v *version) (string, error) {
	e, d, err := r.entry(ctx, v)
	if err != nil {
		return "", err
	}
	if !r.Node.Trusted().Allows(e.Origin, perdure.MayOwn, v.shelf.Scope) {
		return "", fmt.Errorf("its check was written by key %s, which this home does not trust to own",
			e.Origin.Short())
	}
	return r.Holds.Hold(ctx, a, d.Check)
}
