package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/seal"
)

// Document is a version of a document, as a reader sees it.
type Document struct {
	Path       string          `json:"path"`
	Kind       string          `json:"kind,omitempty"`
	Title      string          `json:"title"`
	Visibility Visibility      `json:"visibility"`
	Agent      perdure.AgentID `json:"agent"` // in whose memory it is
	Version    perdure.Hash    `json:"version"`
	Seq        int64           `json:"seq"`
	Time       perdure.Time    `json:"time"`
	Author     perdure.Key     `json:"author"`
	By         string          `json:"by,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Links      []string        `json:"links,omitempty"`
	From       *perdure.Source `json:"from,omitempty"`
	Expires    perdure.Time    `json:"expires,omitempty"`
	Check      string          `json:"check,omitempty"`
	Stale      string          `json:"stale,omitempty"` // why its check does not hold
	Sealed     bool            `json:"sealed,omitempty"`
	Gone       bool            `json:"gone,omitempty"`
	Current    bool            `json:"current"`
	Size       int64           `json:"size"`
	Text       string          `json:"text,omitempty"`
	Beside     []perdure.Hash  `json:"beside,omitempty"` // further current versions: a conflict
	Base       []perdure.Hash  `json:"base,omitempty"`   // the versions that it replaced, where its text is read
	Linked     []string        `json:"linked,omitempty"` // renamed: what still links to the path that it had

	body perdure.Data
	row  *version
}

// document is a row as a reader sees it, without its text.
func (r *Reader) document(v *version) *Document {
	return &Document{Path: v.path, Kind: v.kind, Title: v.title, Visibility: v.shelf.Visibility, Agent: v.shelf.agent,
		Version: v.entry, Seq: v.seq, Time: v.at,
		Author: v.origin, By: r.said(v.origin, v.by), Tags: v.tags, From: v.from, Expires: v.expires, Check: v.check,
		Sealed: v.sealed, Gone: v.gone, Current: v.current, Size: v.size, row: v}
}

// said is who wrote what a key signed under a name, as this home trusts: anybody may write any name.
func (r *Reader) said(k perdure.Key, as string) string {
	if as == "" {
		return ""
	}
	who, _ := r.Node.Trusted().SaidBy(nil, k, &perdure.Event{By: as})
	return who
}

// full is the document of a version with its text.
func (r *Reader) full(ctx context.Context, v *version) (*Document, error) {
	return r.filled(ctx, r.document(v))
}

// filled is a document with what only its entry has.
func (r *Reader) filled(ctx context.Context, d *Document) (*Document, error) {
	e, doc, err := r.entry(ctx, d.row)
	if err != nil {
		return nil, err
	}
	return r.with(d, e, doc), nil
}

// with is filled with an entry that was read.
func (r *Reader) with(d *Document, e *perdure.Entry, doc *perdure.Document) *Document {
	full := *d
	full.body, full.Links, full.Base, full.Check, full.Author = doc.Body, doc.Links, doc.Base, doc.Check, e.Origin
	full.Text = r.open(doc.Body)
	return &full
}

// open is the text of a body. The owner sees sealed parts as far as the vault opens them; roles do not.
func (r *Reader) open(body perdure.Data) string {
	text, sealed := plainText(body)
	if !sealed || !r.agent.IsZero() || r.Vault == nil {
		return text
	}
	parts, ok := body.Value().([]any)
	if !ok {
		parts = []any{body.Value()}
	}
	var b strings.Builder
	for _, p := range parts {
		text, ok := p.(string)
		if !ok {
			text = r.unseal(p)
		}
		b.WriteString(text)
	}
	return b.String()
}

func (r *Reader) unseal(part any) string {
	d, err := perdure.DataOf(part)
	if err == nil {
		d, err = seal.Open(r.Vault, d)
	}
	switch {
	case errors.Is(err, seal.ErrErased):
		return "[erased]"
	case err != nil:
		return sealedMark
	}
	return d.Text()
}

// CleanPath is a path as documents have it. A leading slash, /memories and /memories/ do not count.
func CleanPath(path string) (string, error) {
	p := strings.TrimPrefix(path, "/")
	if p == "memories" {
		p = ""
	}
	p = strings.TrimPrefix(p, "memories/")
	odd := func(c rune) bool { return c == '\\' || unicode.IsControl(c) }
	if p == "" || p == "." || !fs.ValidPath(p) || strings.ContainsFunc(p, odd) {
		return "", perdure.Invalid(fmt.Errorf("path %q: want words joined by slashes, such as decisions/use-sqlite.md",
			clip(path, maxTitle)))
	}
	return p, nil
}

// missing is the error for a document that is not there, or not for this reader: nobody learns which.
func missing(path string) error {
	return perdure.WithHint(perdure.Missing(fmt.Sprintf("there is no document %s", path)),
		"see perdure doc ls, or perdure search")
}

// unexpired leaves out what has outlived its time, though nothing has taken it out yet.
func unexpired(all []*version) []*version {
	now := perdure.TimeOf(time.Now())
	out := all[:0]
	for _, v := range all {
		if v.expires == 0 || v.expires > now {
			out = append(out, v)
		}
	}
	return out
}

// Read is the document at a path. Of several current versions it is the last; Beside names the others.
func (r *Reader) Read(ctx context.Context, path string, on *Visibility) (*Document, error) {
	path, err := CleanPath(path)
	if err == nil {
		err = r.sync(ctx)
	}
	if err != nil {
		return nil, err
	}
	found, err := r.current(ctx, path, on)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, missing(path)
	}
	d, err := r.full(ctx, found[0])
	if err != nil {
		return nil, err
	}
	for _, v := range found[1:] {
		d.Beside = append(d.Beside, v.entry)
	}
	return d, nil
}

// ReadVersion is one version of a document, by the name of its entry, current or not.
func (r *Reader) ReadVersion(ctx context.Context, name perdure.Hash) (*Document, error) {
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.Index.versions(ctx, shelves, "v.entry=?", name[:])
	if err != nil {
		return nil, err
	}
	if found = unexpired(found); len(found) == 0 {
		return nil, noVersion("", name.Short())
	}
	if readable, err := r.readable(ctx, found[0]); err != nil || !readable {
		return nil, cmp.Or(err, noVersion("", name.Short()))
	}
	return r.full(ctx, found[0])
}

// noVersion is the error for a version that the document at a path has not, or that is nowhere.
func noVersion(path, name string) error {
	if path == "" {
		return perdure.WithHint(perdure.Missing("there is no version "+name), "perdure doc history PATH lists them")
	}
	return perdure.WithHint(perdure.Missing(path+" has no version "+name), "see perdure doc history "+path)
}

// minDigits is how many digits of a hash are enough to look for it.
const minDigits = 4

// versionOf is a version by its hash or, of the document at a path, by the first digits of it, such as the program
// shows. Digits that several versions begin with are refused.
func (r *Reader) versionOf(ctx context.Context, path string, on *Visibility, text string) (h perdure.Hash, err error) {
	if h, err = perdure.ParseHash(text); err == nil {
		return h, nil
	}
	digits := strings.ToLower(text)
	if path == "" || len(digits) < minDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return h, perdure.WithHint(perdure.Invalid(fmt.Errorf("version %q: want the hash of a version, 64 hex digits, "+
			"or with the path of its document at least the first %d", clip(text, maxTitle), minDigits)),
			"perdure doc history PATH lists them")
	}
	all, err := r.History(ctx, path, on)
	if err != nil {
		return h, err
	}
	found := slices.DeleteFunc(all, func(d *Document) bool { return !strings.HasPrefix(d.Version.String(), digits) })
	switch len(found) {
	case 0:
		return h, noVersion(path, digits)
	case 1:
		return found[0].Version, nil
	}
	return h, perdure.Invalid(fmt.Errorf("%d versions of %s begin with %s; say more of it", len(found), path, digits))
}

// Based puts into a draft the versions it rests on: each by its hash, or by the first digits of it.
func (r *Reader) Based(ctx context.Context, d *Draft, versions []string) error {
	for _, text := range versions {
		path, err := r.placeOf(d.Path, d)
		if err != nil {
			return err
		}
		h, err := r.versionOf(ctx, path, d.Visibility, text)
		if err != nil {
			return err
		}
		d.Base = append(d.Base, h)
	}
	return nil
}

// History is the versions of the document at a path, newest first, without their texts. One that was removed has them,
// too.
func (r *Reader) History(ctx context.Context, path string, on *Visibility) ([]*Document, error) {
	path, err := CleanPath(path)
	if err == nil {
		err = r.sync(ctx)
	}
	if err != nil {
		return nil, err
	}
	last, err := r.lastly(ctx, path, on)
	if err != nil {
		return nil, err
	}
	if len(last) == 0 {
		return nil, missing(path)
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.Index.versions(ctx, placed(shelves, last[0].shelf), "v.path=? ORDER BY v.id DESC LIMIT 1000", path)
	if err != nil {
		return nil, err
	}
	found, err = r.readables(ctx, found)
	all := make([]*Document, len(found))
	for i, v := range found {
		all[i] = r.document(v)
	}
	return all, err
}
