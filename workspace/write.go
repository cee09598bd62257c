package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/seal"
)

// MaxText bounds the text of a document.
const MaxText = 8 << 20

// maxPart bounds one word of a new path: file systems take names of 255 bytes, and a folder may hold every document.
const maxPart = 200

// Draft is a document to be written.
type Draft struct {
	Path       string // empty: the canonical place of its kind and title
	Kind       string // empty: what it was, or by its place
	Title      string // empty: what it was, or the first line of its text
	Text       string
	Sealed     []Part // what follows the text, each sealed for somebody
	Visibility *Visibility
	Links      []string
	Tags       []string
	Check      string // how to find out whether it still holds; see Holder
	TTL        time.Duration

	// Base are the versions the author has read. If they are not the current ones, nothing is written, and the error
	// wraps ErrConflict. Nil: whatever is current is replaced, unless that is several versions.
	Base []perdure.Hash
	// New refuses to replace anything.
	New bool

	adds   bool // to what is there, whether or not the author may read it
	from   *perdure.Source
	gone   bool
	moved  bool         // what it replaces stands elsewhere, whole
	models bool         // a model wrote it, whoever it acts for
	body   perdure.Data // in the place of Text and Sealed
	kept   string       // the check of the document this is made of, which is its author's and not accepted
}

// Part is a part of a document that is sealed for a subject, so that erasing the subject makes it unreadable
// everywhere.
type Part struct{ Subject, Text string }

// ParsePart reads SUBJECT=TEXT.
func ParsePart(s string) (Part, error) {
	subject, text, ok := strings.Cut(s, "=")
	if !ok || subject == "" || text == "" {
		return Part{}, perdure.Invalid(errors.New("want SUBJECT=TEXT"))
	}
	return Part{subject, text}, nil
}

// Conflict is why a document was not written: others have written it since.
type Conflict struct {
	Path    string
	Current []perdure.Hash // the versions to read, and to name as the base
	New     bool           // it was to be new
}

func (c *Conflict) Error() string {
	if len(c.Current) == 0 {
		return c.Path + " has no version to replace: it was removed, or has not been written yet"
	}
	names := make([]string, len(c.Current))
	for i, h := range c.Current {
		names[i] = h.String()
	}
	if c.New {
		return c.Path + " exists: version " + strings.Join(names, ", ")
	}
	if len(names) == 1 {
		return c.Path + " has another current version, " + names[0]
	}
	return fmt.Sprintf("%s has %d versions that stand beside each other: %s", c.Path, len(names),
		strings.Join(names, ", "))
}

// Unwrap is ErrConflict.
func (c *Conflict) Unwrap() error { return perdure.ErrConflict }

// conflict is the error for a document others have written.
func conflict(path string, current []*version) error {
	c := &Conflict{Path: path}
	for _, v := range current {
		c.Current = append(c.Current, v.entry)
	}
	if len(c.Current) == 0 {
		return perdure.WithHint(c, "write it without a base; its earlier versions: perdure doc history "+path)
	}
	return perdure.WithHint(c, "read what is there, bring both together, and write it with that as the base")
}

// exists is the error for a document that was to be new.
func exists(path string, current []*version) error {
	c := &Conflict{Path: path, New: true}
	for _, v := range current {
		c.Current = append(c.Current, v.entry)
	}
	return perdure.WithHint(c, "choose another path; or read it, and write it with its version as the base")
}

// Write writes a version of a document: over the versions it rests on, else in the scope of who writes, or that the
// draft names, never in another. When it returns, the version is durable. Two who write at once in one store do
// so one after the other; where stores were apart, both versions are kept.
func (r *Reader) Write(ctx context.Context, d Draft) (*Document, error) {
	on, err := r.under(ctx, &d)
	if err != nil {
		return nil, err
	}
	return r.write(ctx, d.Path, on, func([]*version) (*Draft, error) { return &d, nil }, d)
}

// maxTries bounds how often something is written anew because others were first.
const maxTries = 100

// write writes what make says, given the current versions. It is asked again whenever others were first.
func (r *Reader) write(ctx context.Context, path string, on *Visibility, make func([]*version) (*Draft, error),
	first Draft) (*Document, error) {
	path, err := r.placeOf(path, &first)
	if err != nil {
		return nil, err
	}
	if err := r.sound(path, &first); err != nil { // before a memory is made for it
		return nil, err
	}
	var e *perdure.Entry
	var s *shelf
	err = r.inTurn(ctx, func() (err error) {
		e, s, err = r.tryWrite(ctx, path, on, make, first.adds)
		return err
	})
	if err != nil {
		return nil, err
	}
	if first.Check != "" && r.agent.IsZero() && r.Holds != nil {
		r.Holds.Accept(first.Check)
	}
	return r.written(ctx, s, e, path)
}

// inTurn calls try until nobody was first. Within a process one goes after the other: of many at once, all but one
// would be too late each time.
func (w *Workspace) inTurn(ctx context.Context, try func() error) error {
	alone := func() error {
		w.turn.Lock()
		defer w.turn.Unlock()
		return try()
	}
	for n := range maxTries {
		err := alone()
		var stale *Conflict
		if !errors.Is(err, perdure.ErrConflict) || errors.As(err, &stale) || ctx.Err() != nil {
			return err
		}
		pause(ctx, n)
	}
	return fmt.Errorf("%w: others write to the same memory without a pause; try again", perdure.ErrConflict)
}

// pause lets others go first.
func pause(ctx context.Context, try int) {
	if try == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(2 * time.Millisecond << min(try, 7))): // a loaded machine takes long over each
	}
}

// placeOf is the path of a draft.
func (r *Reader) placeOf(path string, d *Draft) (string, error) {
	if path != "" {
		return CleanPath(path)
	}
	title := d.Title
	if title == "" {
		title = TitleOf("", d.Text)
	}
	path = placeFor(d.Kind, title)
	if d.Visibility != nil && d.Visibility.Tier == Private {
		path = PrivatePath(r.role, path)
	}
	return CleanPath(path)
}

// tryWrite writes a version, if nothing comes between.
func (r *Reader) tryWrite(ctx context.Context, path string, on *Visibility,
	make func([]*version) (*Draft, error), adds bool) (*perdure.Entry, *shelf, error) {
	s, current, heads, err := r.stand(ctx, path, on)
	if err == nil && !adds { // what the author has not seen is not replaced
		current, err = r.readables(ctx, current)
	}
	if err != nil {
		return nil, nil, err
	}
	d, err := make(current)
	if err != nil {
		return nil, nil, err
	}
	w, err := r.writing(path, d, current)
	if err != nil {
		return nil, nil, err
	}
	if err := r.may(ctx, s, path, w.Document.Kind, true); err != nil {
		return nil, nil, err
	}
	if err := r.fitsOver(ctx, s, path, d, current); err != nil {
		return nil, nil, err
	}
	if made, err := r.ready(ctx, s, *w); err != nil || made {
		if err != nil {
			return nil, nil, err
		}
		return r.tryWrite(ctx, path, on, make, adds)
	}
	entries, err := r.Node.Write(ctx, s.agent, heads, *w)
	if err != nil {
		return nil, nil, err
	}
	return entries[0], s, nil
}

// fitsOver is fits for a draft that brings a path into use.
func (r *Reader) fitsOver(ctx context.Context, s *shelf, path string, d *Draft, current []*version) error {
	if d.gone || len(texts(current)) > 0 {
		return nil
	}
	return r.fits(ctx, s, path, "")
}

// stand is where a document stands or would: its memory, the current versions, and the heads up to which these are all
// there are.
func (r *Reader) stand(ctx context.Context, path string, on *Visibility) (*shelf, []*version, []perdure.Hash, error) {
	if err := r.sync(ctx); err != nil {
		return nil, nil, nil, err
	}
	s, err := r.shelfOf(ctx, path, on)
	if err != nil {
		return nil, nil, nil, err
	}
	heads, err := r.headsOf(ctx, s.agent)
	if err != nil && (s.unborn == nil || !errors.Is(err, perdure.ErrNotFound)) {
		return nil, nil, nil, err
	}
	place, err := r.placeOn(ctx, s)
	if err != nil {
		return nil, nil, nil, err
	}
	current, err := r.Index.currentAt(ctx, place, path)
	return s, current, heads, err
}

// headsOf are the heads of a memory; what is in them is in the index from here on.
func (r *Reader) headsOf(ctx context.Context, id perdure.AgentID) (heads []perdure.Hash, err error) {
	if r.still != nil && r.still.heads[id] != nil {
		return r.still.heads[id], nil
	}
	if heads, err = r.Store.Heads(ctx, id); err == nil {
		err = r.follow(ctx)
	}
	if r.still != nil && err == nil {
		r.still.heads[id] = heads
	}
	return heads, err
}

// shelfOf is the memory that a document is in, or goes to.
func (r *Reader) shelfOf(ctx context.Context, path string, on *Visibility) (*shelf, error) {
	role, _, private := roleOf(path)
	if !private && strings.HasPrefix(path+"/", rolesDir+"/") {
		return nil, perdure.Invalid(fmt.Errorf("path %s: below %s come a role and a name", path, rolesDir))
	}
	if private {
		if on != nil && on.Tier != Private {
			return nil, perdure.Invalid(fmt.Errorf("%s is a private place; promote it to %s, or choose another path",
				path, on))
		}
		if r.role == role && !r.agent.IsZero() {
			s, err := r.shelfFor(ctx, Visibility{Tier: Private})
			return &s, err
		}
		found, err := r.current(ctx, path, nil)
		if err != nil || len(found) > 0 {
			return first(found), err
		}
		if !r.agent.IsZero() {
			return nil, fmt.Errorf("%w: %s are the private notes of another role", perdure.ErrDenied,
				PrivatePath(role, "…"))
		}
		as, err := r.keeperOf(ctx, role) // the owner writes for it
		if err != nil {
			return nil, err
		}
		s, err := as.shelfFor(ctx, Visibility{Tier: Private})
		return &s, err
	}
	if on != nil && on.Tier == Private {
		return nil, perdure.Invalid(fmt.Errorf("%s is a shared place; private notes are at %s", path,
			PrivatePath(r.roleName(), path)))
	}
	all, err := r.copies(ctx, path, on)
	if err != nil {
		return nil, err
	}
	found := living(slices.DeleteFunc(all, func(c []*version) bool {
		return !on.named() && c[0].shelf.Scope != r.scope
	}))
	if len(found) > 0 {
		return first(found), nil
	}
	if on == nil {
		on = &Visibility{Tier: Team}
	}
	if err := folderOfKind(path); err != nil { // before a memory is made for it
		return nil, err
	}
	s, err := r.shelfFor(ctx, *on)
	return &s, err
}

// first is the memory that a document is in. Of several it is the one of this home: what came from elsewhere may wait
// there for somebody to admit it, and is not passed on before.
func first(found []*version) *shelf {
	if len(found) == 0 {
		return nil
	}
	s := *found[max(slices.IndexFunc(found, func(v *version) bool { return v.shelf.mine }), 0)].shelf
	return &s
}

func (r *Reader) roleName() string {
	if r.role == "" {
		return "ROLE"
	}
	return r.role
}

// sound refuses a draft that no document can be made of, whatever is at its path.
func (r *Reader) sound(path string, d *Draft) error {
	if d.Check != "" && r.Holds != nil {
		if err := r.Holds.Fit(d.Check); err != nil {
			return perdure.Invalid(fmt.Errorf("%s: %w", path, err))
		}
	}
	if len(d.Text) > MaxText {
		return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s: its text is longer than the %d bytes that a "+
			"document may have", path, MaxText)),
			"split it, or keep it as a file and write a document that links to it")
	}
	if !utf8.ValidString(d.Text) || !utf8.ValidString(d.Title) {
		return perdure.Invalid(fmt.Errorf("%s: its text is not UTF-8; documents are text, link to a file that "+
			"is not", path))
	}
	slashes := strings.ContainsAny(d.Kind, `/\`) && d.body == nil && !d.moved // what has one already keeps it
	if slashes || strings.ContainsFunc(d.Kind, glyph.Control) || !utf8.ValidString(d.Kind) {
		return perdure.Invalid(fmt.Errorf("kind %q: want a word without slashes, such as note", clip(d.Kind, maxTitle)))
	}
	return nil
}

// writing is a draft as it is to be written over the current versions.
func (r *Reader) writing(path string, d *Draft, current []*version) (*perdure.Writing, error) {
	living := texts(current)
	switch {
	case d.New && len(living) > 0:
		return nil, exists(path, living)
	case d.Base == nil && len(living) > 1:
		return nil, conflict(path, living)
	case d.Base != nil && !sameVersions(d.Base, living):
		return nil, conflict(path, living)
	}
	if err := r.keepsSealed(path, d, living); err != nil {
		return nil, err
	}
	if err := r.sound(path, d); err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(path, "/") {
		if len(part) > maxPart && len(current) == 0 {
			return nil, perdure.Invalid(fmt.Errorf("path %q: want at most %d bytes between two slashes",
				clip(path, maxTitle), maxPart))
		}
	}
	doc := perdure.Document{Path: path, Kind: d.Kind, Title: strings.TrimSpace(norm.NFC.String(d.Title)),
		Links: normal(d.Links), Tags: normal(d.Tags),
		From: d.from, Gone: d.gone, Check: cmp.Or(d.Check, d.kept)}
	for _, v := range current {
		doc.Base = append(doc.Base, v.entry)
	}
	if len(doc.Base) > MaxBase {
		doc.Base = doc.Base[:MaxBase] // what is left is replaced by the next
	}
	if len(living) > 0 { // what nobody says stays as it is
		was := living[0]
		if doc.Kind == "" {
			doc.Kind = was.kind
		}
		if d.Tags == nil && !d.gone {
			doc.Tags = was.tags
		}
		if doc.Check == "" && !d.gone {
			doc.Check = was.check
		}
	}
	if doc.Kind == "" {
		doc.Kind = KindAt(path)
	}
	body, err := r.bodyOf(d)
	if doc.Body = body; doc.Title == "" && !d.gone {
		text, _ := plainText(body)
		doc.Title = TitleOf(path, text)
	}
	w := &perdure.Writing{Document: doc, By: r.by, TTL: d.TTL}
	if r.key != "" {
		w.ID = r.key + ":" + path
	}
	return w, err
}

// keepsSealed refuses a draft that would drop sealed parts: a role does not see what it would drop. The owner may, and
// says so by naming the version it replaces, or what is sealed from now on.
func (r *Reader) keepsSealed(path string, d *Draft, living []*version) error {
	sealed := slices.ContainsFunc(living, func(v *version) bool { return v.sealed })
	switch {
	case !sealed || d.gone || d.moved || d.body != nil:
		return nil
	case !r.agent.IsZero() || d.models:
		return fmt.Errorf("%w: parts of %s are sealed, and would be lost; a person changes it", perdure.ErrDenied, path)
	case d.Base == nil && len(d.Sealed) == 0:
		return perdure.WithHint(
			fmt.Errorf("%w: parts of %s are sealed, and would be lost", perdure.ErrDenied, path),
			"seal them again with --seal, or add to the document with --append; to drop them, name the version that "+
				"you replace with --base")
	}
	return nil
}

// MaxBase is how many versions one replaces, of those that stand beside each other: the first that Read names.
const MaxBase = 16

// normal are words in the one form that texts have.
func normal(words []string) []string {
	var out []string
	seen := map[string]bool{} // of imports there may be many
	for _, w := range words {
		if w = strings.TrimSpace(norm.NFC.String(w)); w != "" && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// bodyOf is the body of a draft.
func (r *Reader) bodyOf(d *Draft) (perdure.Data, error) {
	if d.body != nil || d.gone {
		return d.body, nil
	}
	text := norm.NFC.String(d.Text)
	if len(d.Sealed) == 0 {
		return perdure.DataOf(text)
	}
	parts, err := r.sealed(d.Sealed)
	if err != nil {
		return nil, err
	}
	return perdure.DataOf(append([]any{text}, parts...))
}

// sealed are parts as only the vault opens them.
func (r *Reader) sealed(parts []Part) (all []any, err error) {
	if len(parts) > 0 && r.Vault == nil {
		return nil, perdure.Invalid(errors.New("there is no vault here to keep the keys of sealed parts in"))
	}
	for _, p := range parts {
		plain, err := perdure.DataOf(norm.NFC.String(p.Text))
		if err == nil {
			plain, err = seal.For(r.Vault, p.Subject, plain)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, plain)
	}
	return all, nil
}

// sameVersions reports whether base names exactly the versions.
func sameVersions(base []perdure.Hash, current []*version) bool {
	if len(base) != len(current) {
		return false
	}
	for _, v := range current {
		if !slices.Contains(base, v.entry) {
			return false
		}
	}
	return true
}

// written is the document that an entry wrote.
func (r *Reader) written(ctx context.Context, s *shelf, e *perdure.Entry, path string) (*Document, error) {
	ev, _ := e.Content().(perdure.Event)
	d, ok := ev.Notice.(perdure.Document)
	if !ok {
		return nil, fmt.Errorf("write %s: the entry says something else", path)
	}
	text, sealed := plainText(d.Body)
	return &Document{Path: d.Path, Kind: d.Kind, Title: d.Title, Visibility: s.Visibility, Agent: s.agent,
		Version: e.Name, Seq: e.Seq, Time: e.Time, Author: e.Origin,
		By: ev.By, Tags: d.Tags, Links: d.Links, From: d.From, Check: d.Check, Sealed: sealed, Gone: d.Gone,
		Current: true, Size: int64(len(text)), Text: r.open(d.Body),
		body: d.Body}, nil
}
