package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	slashpath "path"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure"
)

// Foreign is a text that another program wrote, as a document. Its source and time become tags, so that they are found
// and exported with it: the entry itself says only who imported it, and when.
type Foreign struct {
	Path   string
	Kind   string
	Title  string
	Text   string
	Tags   []string
	Links  []string
	Format string    // such as claude-code
	Source string    // the file it was in, as a person would name it
	Time   time.Time // when it was written there; zero: nobody knows
	// Origin tells it from texts of other sources that would have its path; empty: its path does
	Origin string
}

// What came of an import.
const (
	ImportNew     = "new"     // there was nothing at its path
	ImportChanged = "changed" // it takes the place of an earlier import
	ImportSame    = "same"    // this text was imported there before; nothing was written
	ImportKept    = "kept"    // somebody changed what is there; nothing was written
	ImportRefused = "refused" // it cannot be a document; nothing was written
)

// Import is what came of one text.
type Import struct {
	Path    string       `json:"path"`
	Source  string       `json:"source"`
	Status  string       `json:"status"`
	Why     string       `json:"why,omitempty"` // it was kept or refused
	Version perdure.Hash `json:"version,omitzero"`
}

// importTag marks a version by the digest of the text that was imported, and sourceTag, writtenTag and formatTag say
// where that comes from.
const (
	importTag  = "import:"
	sourceTag  = "source:"
	writtenTag = "written:"
	formatTag  = "from:"
	originTag  = importTag + "of-"
)

// importDigest is by what a text is known that was imported before.
func importDigest(text string) string {
	return importTag + digestOf(norm.NFC.String(text))
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Import writes a text that another program wrote, unless it was imported to its path before, whatever became of it
// there since. It replaces an earlier import; what somebody wrote or changed it replaces only if replace is set. The
// error means that nothing can be imported; a text that cannot be a document is refused by its status.
func (r *Reader) Import(ctx context.Context, x Foreign, on *Visibility, replace bool) (Import, error) {
	path, done, err := r.importPath(&x, on)
	if err != nil {
		return done, err
	}
	if path, err = CleanPath(path); err == nil {
		done.Path = path
		err = r.importAt(ctx, path, x, on, replace, &done)
	}
	if errors.Is(err, errApart) {
		ext := slashpath.Ext(path)
		done.Path = strings.TrimSuffix(path, ext) + "-" + digestOf(x.Origin)[:8] + ext
		err = r.importAt(ctx, done.Path, x, on, replace, &done)
	}
	if refusedText(err) || err != nil && r.guarded(x.Text) {
		done.Status, done.Why = ImportRefused, err.Error()
		return done, nil
	}
	return done, err
}

// importPath is where a text goes, and what came of it so far.
func (r *Reader) importPath(x *Foreign, on *Visibility) (string, Import, error) {
	path := x.Path
	if on != nil && on.Tier == Private {
		if r.role == "" {
			return "", Import{}, perdure.WithHint(perdure.Invalid(errors.New("private notes belong to a role")),
				"name it with --role")
		}
		path = PrivatePath(r.role, path)
	}
	return path, Import{Path: path, Source: x.Source}, nil
}

// refusedText reports whether an error is about the text, so that others can be imported all the same.
func refusedText(err error) bool {
	return errors.Is(err, perdure.ErrInvalid) || errors.Is(err, perdure.ErrRejected) ||
		errors.Is(err, perdure.ErrDenied)
}

// guarded reports whether a text holds what must not be in memory.
func (r *Reader) guarded(text string) bool {
	return r.Node.Guard != nil && r.Node.Guard.Check([]byte(text)) != nil
}

// errImported ends the writing of what need not be written.
var errImported = errors.New("it was imported before")

// errApart says that a path has what another source gave.
var errApart = perdure.Invalid(errors.New("another source was imported there"))

// origin is which source tags name; empty: none.
func origin(tags []string) string {
	for _, t := range tags {
		if strings.HasPrefix(t, originTag) {
			return t
		}
	}
	return ""
}

func (r *Reader) importAt(ctx context.Context, path string, x Foreign, on *Visibility, replace bool,
	done *Import) error {
	draft := x.draft(path, on)
	by := r.importer()
	doc, err := by.write(ctx, path, on, func(current []*version) (*Draft, error) {
		return r.importOver(ctx, current, draft, replace, done)
	}, draft)
	if errors.Is(err, errImported) {
		return nil
	}
	if err == nil {
		done.Version = doc.Version
	}
	return err
}

// importer is the reader as who imports.
func (r *Reader) importer() *Reader {
	by := *r
	by.by = "import for " + r.by
	return &by
}

// draft is a text as it is to be written.
func (x *Foreign) draft(path string, on *Visibility) Draft {
	return Draft{Path: path, Kind: x.Kind, Title: x.Title, Text: x.Text, Links: x.Links, Visibility: on,
		Tags: append(x.tags(), importDigest(x.Text))}
}

// importOver is what to write over the current versions of a path; errImported: nothing. It says what came of it.
func (r *Reader) importOver(ctx context.Context, current []*version, d Draft, replace bool, done *Import) (*Draft,
	error) {
	before, err := r.imports(ctx, current, d.Path, importDigest(d.Text))
	if err != nil {
		return nil, err
	}
	living := texts(current)
	of := origin(d.Tags)
	switch {
	case slices.ContainsFunc(living, func(v *version) bool {
		was := origin(v.tags)
		return of != "" && was != "" && was != of && !slices.Contains(v.tags, importDigest(d.Text))
	}):
		return nil, errApart
	case before && (of == "" || len(living) != 1 || slices.Contains(living[0].tags, importDigest(d.Text))):
		done.Status = ImportSame
		return nil, errImported
	case len(living) == 0:
		done.Status = ImportNew
		return &d, nil
	}
	done.Status = ImportChanged
	for _, v := range living {
		whole, err := r.unchanged(ctx, v)
		if err != nil {
			return nil, err
		}
		if before && (!whole || origin(v.tags) != of) { // it was taken over from that since
			done.Status = ImportSame
			return nil, errImported
		}
		if !whole && !replace {
			done.Status, done.Why = ImportKept, fmt.Sprintf("%s was written or changed here since; nothing was "+
				"replaced", d.Path)
			return nil, errImported
		}
		d.Base = append(d.Base, v.entry)
	}
	return &d, nil
}

// imports reports whether a version of a path, current or not, is an import of a text.
func (r *Reader) imports(ctx context.Context, current []*version, path, digest string) (bool, error) {
	if len(current) == 0 {
		return false, nil // every version has one that replaces it, or is current
	}
	place, err := r.placeOn(ctx, current[0].shelf)
	if err != nil {
		return false, err
	}
	found, err := r.Index.versions(ctx, place,
		"v.path=? AND instr(char(10)||v.tags||char(10), ?)>0 LIMIT 1", path, "\n"+digest+"\n")
	return len(found) > 0, err
}

// unchanged reports whether a version is as it was imported.
func (r *Reader) unchanged(ctx context.Context, v *version) (bool, error) {
	_, doc, err := r.entry(ctx, v)
	if err != nil {
		return false, err
	}
	text, sealed := plainText(doc.Body)
	return !sealed && slices.Contains(v.tags, importDigest(text)), nil
}

// tags are those of a text, with where it comes from.
func (x *Foreign) tags() []string {
	tags := slices.Clone(x.Tags)
	for i, t := range tags { // what a stranger writes must not pass for what we know
		tags[i] = strings.TrimPrefix(strings.ReplaceAll(t, "\n", " "), importTag)
	}
	if x.Format != "" {
		tags = append(tags, formatTag+x.Format)
	}
	if x.Source != "" {
		tags = append(tags, sourceTag+strings.ReplaceAll(x.Source, "\n", " "))
	}
	if x.Origin != "" {
		tags = append(tags, originTag+digestOf(x.Origin))
	}
	if !x.Time.IsZero() {
		tags = append(tags, writtenTag+x.Time.UTC().Format(time.RFC3339))
	}
	return tags
}
