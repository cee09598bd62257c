package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure"
)

// Append adds a text to the end of a document, or begins it. Of several who append at once, each finds what the others
// added. Versions that stand beside each other and only added something are brought together.
func (r *Reader) Append(ctx context.Context, d Draft) (*Document, error) {
	d.adds = true
	path, err := r.placeOf(d.Path, &d)
	if err == nil {
		err = r.sync(ctx)
	}
	if err != nil {
		return nil, err
	}
	on := d.Visibility
	found, _, err := r.own(ctx, path, on)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		on = &found[0].shelf.Visibility
	}
	doc, err := r.write(ctx, path, on, func(current []*version) (*Draft, error) {
		next := d
		living := texts(current)
		if len(living) == 0 {
			return &next, nil
		}
		body, text, err := r.together(ctx, living)
		if err != nil {
			return nil, err
		}
		for _, v := range living {
			next.Base = append(next.Base, v.entry)
		}
		if next.Title == "" {
			next.Title = living[0].title
		}
		if next.Text = lined(text) + d.Text; body != nil { // parts of it are sealed
			next.body, err = r.longer(body, &d)
		}
		return &next, err
	}, d)
	if err == nil && len(found) == 0 && !r.agent.IsZero() { // policy may hide what was there
		doc.Title, doc.Tags = cmp.Or(d.Title, TitleOf(path, d.Text)), d.Tags
		doc.Text, doc.Size = d.Text, int64(len(d.Text))
	}
	return doc, err
}

// longer is a body of which parts are sealed, and what a draft adds to it.
func (r *Reader) longer(body []any, d *Draft) (perdure.Data, error) {
	sealed, err := r.sealed(d.Sealed)
	if err != nil {
		return nil, err
	}
	return perdure.DataOf(append(append(slices.Clone(body), "\n"+norm.NFC.String(d.Text)), sealed...))
}

// lined is a text that ends with a line end, unless it is empty.
func lined(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// together is the text of versions, and its parts if some are sealed. Several go together only if they are one text to
// which each added something.
func (r *Reader) together(ctx context.Context, living []*version) (parts []any, text string, err error) {
	docs := make([]*perdure.Document, len(living))
	for i, v := range living {
		if _, docs[i], err = r.entry(ctx, v); err != nil {
			return nil, "", err
		}
	}
	if len(docs) == 1 {
		text, sealed := plainText(docs[0].Body)
		if sealed {
			parts, _ = docs[0].Body.Value().([]any)
		}
		return parts, text, nil
	}
	path := living[0].path
	if len(docs[0].Base) == 0 {
		return nil, "", conflict(path, living)
	}
	place, err := r.placeOn(ctx, living[0].shelf)
	if err != nil {
		return nil, "", err
	}
	base, err := r.Index.versions(ctx, place, "v.entry=?", docs[0].Base[0][:])
	if err != nil || len(base) == 0 {
		return nil, "", errors.Join(err, conflict(path, living))
	}
	_, was, err := r.entry(ctx, base[0])
	if err != nil {
		return nil, "", err
	}
	text, sealed := plainText(was.Body)
	text = lined(text)
	all := text
	for i := len(docs) - 1; i >= 0; i-- {
		one, more := plainText(docs[i].Body)
		added, ok := strings.CutPrefix(one, text)
		if sealed || more || !ok || !slices.Equal(docs[i].Base, docs[0].Base) {
			return nil, "", conflict(path, living)
		}
		all = lined(all) + added
	}
	return nil, all, nil
}

// Remove takes a document away: its path has no text from then on. Its versions stay in memory.
func (r *Reader) Remove(ctx context.Context, path string, on *Visibility, base []perdure.Hash) (*Document, error) {
	on, err := r.toChange(ctx, path, on)
	if err != nil {
		return nil, err
	}
	return r.write(ctx, path, on, func(current []*version) (*Draft, error) {
		if len(texts(current)) == 0 {
			return nil, missing(path)
		}
		d := &Draft{gone: true, Base: base}
		if base == nil {
			for _, v := range texts(current) {
				d.Base = append(d.Base, v.entry)
			}
		}
		return d, nil
	}, Draft{})
}

// Rename moves a document to another path in the same memory, where nothing may be. Both are one commit.
func (r *Reader) Rename(ctx context.Context, from, to string, on *Visibility) (*Document, error) {
	to, err := CleanPath(to)
	if err != nil {
		return nil, err
	}
	was, err := r.readToChange(ctx, from, on)
	if err != nil {
		return nil, err
	}
	role, _, private := roleOf(was.Path)
	if other, _, is := roleOf(to); is != private || other != role {
		return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("%s and %s are in different memories", was.Path, to)),
			"promote it instead")
	}
	on = &Visibility{was.Visibility.Tier, was.Visibility.Scope}
	linking, err := r.Linked(ctx, was.Path)
	if err != nil {
		return nil, err
	}
	var d *Document
	err = r.inTurn(ctx, func() (err error) {
		d, err = r.tryRename(ctx, was.Path, to, on)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, other := range linking {
		if other.Agent == was.Agent && other.Path == was.Path {
			other.Path = to // it links to itself
		}
		d.Linked = append(d.Linked, other.Path)
	}
	return d, nil
}

func (r *Reader) tryRename(ctx context.Context, from, to string, on *Visibility) (*Document, error) {
	s, current, heads, err := r.stand(ctx, from, on)
	if err != nil {
		return nil, err
	}
	was := texts(current)
	if len(was) != 1 {
		return nil, conflict(from, was)
	}
	place, err := r.placeOn(ctx, s)
	if err != nil {
		return nil, err
	}
	there, err := r.Index.currentAt(ctx, place, to)
	if err != nil {
		return nil, err
	}
	if len(texts(there)) > 0 {
		return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("there is a document at %s", to)),
			"choose another path, or remove that one first: perdure doc rm")
	}
	if err := r.fits(ctx, s, to, from); err != nil {
		return nil, err
	}
	_, doc, err := r.entry(ctx, was[0])
	if err != nil {
		return nil, err
	}
	next, err := r.writing(to, &Draft{Kind: doc.Kind, Title: doc.Title, Links: doc.Links, Tags: doc.Tags,
		kept: doc.Check, New: true, body: doc.Body,
		from: &perdure.Source{Agent: s.agent, Entry: was[0].entry}}, there)
	if err != nil {
		return nil, err
	}
	gone, err := r.writing(from, &Draft{gone: true}, current)
	if err != nil {
		return nil, err
	}
	for _, w := range []*perdure.Writing{next, gone} {
		if err := r.may(ctx, s, w.Document.Path, doc.Kind, true); err != nil {
			return nil, err
		}
	}
	entries, err := r.Node.Write(ctx, s.agent, heads, *next, *gone)
	if err != nil {
		return nil, err
	}
	return r.written(ctx, s, entries[0], to)
}

// Promote makes a document one that more may see, with the version it was taken from. In its old place it leaves a
// link: nothing is there twice. A second call changes nothing.
func (r *Reader) Promote(ctx context.Context, path string, on *Visibility, to Visibility, newPath string) (*Document,
	error) {
	was, err := r.readToChange(ctx, path, on)
	if err != nil {
		return nil, err
	}
	if to.Scope == "" {
		to.Scope = was.Visibility.Scope
	}
	if was.Visibility == to && (newPath == "" || newPath == was.Path) {
		return was, nil // it is there
	}
	if !to.Wider(was.Visibility) {
		return nil, perdure.Invalid(fmt.Errorf("%s is %s already; documents are promoted upward: private, custom, "+
			"team, public", was.Path, was.Visibility))
	}
	if len(was.Beside) > 0 {
		return nil, perdure.WithHint(&Conflict{Path: was.Path,
			Current: append([]perdure.Hash{was.Version}, was.Beside...)}, "bring the versions together first")
	}
	if slices.Contains(was.Tags, MovedTag) && len(was.Links) > 0 {
		if newPath != "" && newPath != was.Links[0] {
			return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("%s was promoted before, to %s", was.Path,
				was.Links[0])), "rename it there with perdure doc mv")
		}
		return r.Read(ctx, was.Links[0], &to)
	}
	if newPath == "" {
		newPath = sharedPath(was)
	}
	source := perdure.Source{Agent: was.Agent, Entry: was.Version}
	there, err := r.Read(ctx, newPath, &to)
	switch {
	case err == nil && there.From != nil && *there.From == source: // this was done before, but for the link
	case err == nil:
		return nil, perdure.WithHint(&Conflict{Path: there.Path, Current: []perdure.Hash{there.Version}, New: true},
			"choose another path for it")
	case !errors.Is(err, perdure.ErrNotFound):
		return nil, err
	default:
		there, err = r.Write(ctx, Draft{Path: newPath, Kind: was.Kind, Title: was.Title, Visibility: &to,
			Links: was.Links, Tags: was.Tags, kept: was.Check,
			New: true, body: was.body, from: &source})
		if err != nil {
			return nil, err
		}
	}
	stub := Draft{Path: was.Path, Kind: was.Kind, Title: "Moved to " + there.Path, Text: fmt.Sprintf("Moved to [[%s]] "+
		"(%s).\n", there.Path, there.Visibility), Visibility: &was.Visibility, Links: []string{there.Path},
		Tags: []string{MovedTag}, Base: []perdure.Hash{was.Version}, moved: true}
	if _, err := r.Write(ctx, stub); err != nil && !errors.Is(err, perdure.ErrDenied) &&
		!errors.Is(err, perdure.ErrConflict) {
		return nil, err
	}
	return there, nil
}

// sharedPath is where a document goes that is promoted: private notes that are in no folder, to that of their kind.
func sharedPath(d *Document) string {
	_, rest, private := roleOf(d.Path)
	switch folder := folders[d.Kind]; {
	case !private:
		return d.Path
	case folder != "" && !strings.Contains(rest, "/"):
		return folder + "/" + rest
	}
	return rest
}

// MovedTag marks what is left of a document that was promoted, and supersededTag one in whose place another stands.
const (
	MovedTag      = "moved"
	supersededTag = "superseded"
)

// Supersede writes a document in the place of another, which keeps its text and says by what it was superseded.
func (r *Reader) Supersede(ctx context.Context, old string, on *Visibility, d Draft) (*Document, error) {
	was, err := r.readToChange(ctx, old, on)
	if err != nil {
		return nil, err
	}
	if d.Visibility == nil {
		d.Visibility = &was.Visibility
	}
	if d.Kind == "" {
		d.Kind = was.Kind
	}
	d.Links, d.from = append(d.Links, was.Path), &perdure.Source{Agent: was.Agent, Entry: was.Version}
	next, err := r.Write(ctx, d)
	if err != nil {
		return nil, err
	}
	mark := Draft{Path: was.Path, Kind: was.Kind, Title: was.Title, Visibility: &was.Visibility,
		Links: append([]string{next.Path}, was.Links...),
		Tags:  append([]string{supersededTag}, was.Tags...), Base: append([]perdure.Hash{was.Version}, was.Beside...),
		body: was.body}
	_, err = r.Write(ctx, mark)
	return next, err
}
