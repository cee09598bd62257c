package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// source is what a file is projected from.
type source interface {
	// now is the text of the file as memory has it, and which versions it was made of; ok says that there is one.
	now(ctx context.Context) (text, versions string, ok bool, err error)
	// take takes in a text that a person made of base, which versions said. Where parts of it did not go together with
	// memory, clash says where both are. Taking in the same text, made of the same, once more changes nothing.
	take(ctx context.Context, base *string, versions, text string) (clash string, err error)
	// remove takes out of memory what versions said. Where memory says something else by now, that stays, and the error
	// wraps ErrConflict.
	remove(ctx context.Context, versions string) error
}

// errSealed says that a text cannot be changed in a folder.
var errSealed = errors.New("parts of it are sealed, and are not in the folder: change it with perdure doc write")

// document is a file that is one document.
type document struct {
	f *Folder
	spot
}

var _ source = (*document)(nil)

// named are the names of the current versions.
func named(d *workspace.Document) string {
	all := string(d.Version[:])
	for _, h := range d.Beside {
		all += string(h[:])
	}
	return all
}

func (d *document) now(ctx context.Context) (text, versions string, ok bool, err error) {
	is, err := d.read(ctx)
	if is == nil || err != nil {
		return "", "", false, err
	}
	return is.text, named(is.Document), true, nil
}

// maxTries bounds how often a text is merged anew because somebody else wrote meanwhile.
const maxTries = 20

func (d *document) take(ctx context.Context, base *string, versions, text string) (clash string, err error) {
	key := d.f.keyOf(d.spot, base, versions, text)
	for range maxTries {
		clash, err = d.tryTake(ctx, key, base, text)
		if !errors.Is(err, perdure.ErrConflict) || ctx.Err() != nil {
			return clash, err
		}
	}
	return clash, err
}

// keyOf is the id of a change: the same one is written once.
func (f *Folder) keyOf(s spot, base *string, versions, text string) string {
	h := sha256.New()
	was := "-"
	if base != nil {
		was = "+" + *base
	}
	for _, part := range []string{f.dir, s.path, s.on.String(), was, versions, text} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	return "files:" + hex.EncodeToString(h.Sum(nil)[:16])
}

// unfit is why a text is not taken in as it stands; nil: it is, or what became of memory since base decides.
func (d *document) unfit(is *reading, base *string, text string) error {
	switch {
	case !isJSON(d.path) || json.Valid([]byte(text)):
		return nil
	case hasMarks(text):
		return errMarks
	case is == nil && base == nil:
		return errUnfinished
	case is == nil || base == nil || !json.Valid([]byte(is.text)):
		return nil
	}
	if merged, _ := merged(*base, is.text, text); merged == text {
		return errUnfinished
	}
	return nil
}

func (d *document) tryTake(ctx context.Context, key string, base *string, text string) (clash string, err error) {
	is, err := d.read(ctx)
	if err == nil {
		err = d.unfit(is, base, text)
	}
	if err != nil {
		return "", err
	}
	draft := workspace.Draft{Path: d.path, Visibility: &d.on, Text: text}
	if is == nil {
		if draft = d.fresh(text); base != nil && strings.TrimSpace(text) == "" {
			return "", nil // nothing of nothing
		}
		if err := d.f.Reader.MayRead(ctx, draft); err != nil { // it could not be shown again
			return "", err
		}
		past, err := d.f.Reader.History(ctx, d.path, &d.on)
		if len(past) > 0 { // it was removed: what is written now is another
			key += ":" + past[0].Version.String()
		}
		if err == nil || errors.Is(err, perdure.ErrNotFound) {
			_, err = d.f.person().Once(key).Write(ctx, draft)
		}
		return "", err
	}
	doc, was := is.Document, is.text
	if to, err := d.promoted(ctx, doc, base, was); err != nil || to != nil {
		if err != nil {
			return "", err
		}
		d.f.asides = append(d.f.asides, to.spot)
		return to.tryTake(ctx, key, base, text)
	}
	if base == nil {
		if base, err = d.basis(ctx, doc, was, text); err == nil {
			err = d.unfit(is, base, text)
		}
		if err != nil {
			return "", err
		}
	}
	draft.Text, clash = merged(*base, was, text)
	if isJSON(d.path) && (clash != "" || breaks(was, draft.Text, text)) {
		file, err := d.aside(ctx, key, text)
		return "it keeps what memory says, and your text is in " + file, err
	}
	if path.Base(d.path) == tasksName {
		draft.Text = string(tasks.Stamp([]byte(was), []byte(draft.Text), d.f.stamp()))
	}
	if draft.Text == was {
		return clash, nil
	}
	if doc.Sealed {
		return "", errSealed
	}
	if _, err := d.apart(ctx, is); err != nil { // what is written now replaces them
		return "", err
	}
	draft.Base, draft.Links = append([]perdure.Hash{doc.Version}, doc.Beside...), doc.Links
	if doc.Title != workspace.TitleOf(doc.Path, doc.Text) {
		draft.Title = doc.Title
	}
	if doc.Expires > 0 {
		draft.TTL = max(time.Until(doc.Expires.Go()), time.Millisecond)
	}
	_, err = d.f.person().Once(key).Write(ctx, draft)
	return clash, err
}

// fresh is a document that is new.
func (d *document) fresh(text string) workspace.Draft {
	draft := workspace.Draft{Path: d.path, Visibility: &d.on, Text: text, New: true, Kind: kindOf(d.path)}
	d.f.restore(&draft, d.spot)
	return draft
}

// promoted is where a document went since base was read; nil: it is where it was.
func (d *document) promoted(ctx context.Context, doc *workspace.Document, base *string, was string) (*document, error) {
	if base == nil || *base == was || !slices.Contains(doc.Tags, workspace.MovedTag) || len(doc.Links) != 1 {
		return nil, nil
	}
	to, err := d.f.Reader.Read(ctx, doc.Links[0], nil)
	if errors.Is(err, perdure.ErrNotFound) || err == nil && to.Version == doc.Version {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if to.From == nil || to.From.Agent != doc.Agent {
		return nil, nil // anybody may write such a tag and link; only a promotion says where its text is from
	}
	return &document{d.f, spot{to.Path, workspace.Visibility{Tier: to.Visibility.Tier,
		Scope: to.Visibility.Scope}}}, nil
}

// kindOf is the kind of a new document, if its name says so.
func kindOf(file string) string {
	switch path.Base(file) {
	case tasksName, featuresName, "prd.json":
		return workspace.KindPlan
	case learnedName:
		return workspace.KindPractice
	}
	if path.Base(path.Dir(file)) == learnedDir {
		return workspace.KindPractice
	}
	return ""
}

// maxPast is how many earlier versions a file is compared with of which nobody knows what it was made of.
const maxPast = 50

// basis is what a text was made of, if nobody kept that: an earlier version, if it is one; else what it has in common
// with the current one, so that nothing of either is lost.
func (d *document) basis(ctx context.Context, doc *workspace.Document, was, text string) (*string, error) {
	past, err := d.f.Reader.History(ctx, d.path, &d.on)
	if err != nil {
		return nil, err
	}
	for i, v := range past {
		if i == maxPast {
			break
		}
		if v.Gone || v.Size != int64(len(text)) || v.Version == doc.Version {
			continue
		}
		full, err := d.f.Reader.ReadVersion(ctx, v.Version)
		if err == nil && full.Text == text {
			return &text, nil
		}
		if err != nil && !errors.Is(err, perdure.ErrNotFound) {
			return nil, err
		}
	}
	both := strings.Join(common(split(was), split(text)), "\n")
	if both != "" {
		both += "\n"
	}
	return &both, nil
}

// errMarks says that marks are not taken in where a program would read them.
var errMarks = perdure.Invalid(errors.New("marks are still in it, which no program reads as JSON: bring together " +
	"what is between them, and take them out"))

// errUnfinished says that a text is not taken in that no program would read.
var errUnfinished = perdure.Invalid(errors.New("it is no JSON as it stands, and memory stays as it is: finish it"))

func isJSON(file string) bool { return path.Ext(file) == ".json" }

// breaks reports whether a merge is no JSON, though memory's text is and the person's alone is something else.
func breaks(memory, merged, file string) bool {
	return merged != file && json.Valid([]byte(memory)) && !json.Valid([]byte(merged))
}

// marked says where both texts of a conflict are, unless they are apart.
const marked = "both texts are in it, between marks"

// merged is what merge makes of texts, and where both are if they clash.
func merged(base, memory, file string) (text, clash string) {
	text, conflict := merge(base, memory, file)
	if conflict {
		clash = marked
	}
	return text, clash
}

// aside writes a text that does not go together with the document into one beside it, and says which file that is.
func (d *document) aside(ctx context.Context, key, text string) (file string, err error) {
	ext := path.Ext(d.path)
	sum := sha256.Sum256([]byte(text))
	name := strings.TrimSuffix(d.path, ext) + ".conflict-" + hex.EncodeToString(sum[:4]) + ext
	at := spot{name, d.on}
	d.f.asides = append(d.f.asides, at)
	file, _ = d.f.plan.fileOf(at)
	if there, err := d.f.Reader.Read(ctx, name, &d.on); err == nil && normal(there.Text) == text {
		return file, nil
	}
	_, err = d.f.person().Once(key+":aside").Write(ctx, workspace.Draft{Path: name, Visibility: &d.on, Text: text,
		Kind: workspace.KindNote, Title: "What does not go together with " + d.path, Links: []string{d.path}})
	return file, err
}

func (d *document) remove(ctx context.Context, versions string) error {
	_, err := d.f.person().Remove(ctx, d.path, &d.on, namesOf(versions))
	if errors.Is(err, perdure.ErrNotFound) {
		return nil
	}
	return err
}
