package files

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// reading is a document as it is now, and its text as files have it: all its current versions, merged.
type reading struct {
	*workspace.Document
	text string
	// rest are the texts of versions that are not in text: marks in it would make it something no program reads.
	rest []string
}

// read is the document as it is now; nil: there is none.
func (d *document) read(ctx context.Context) (*reading, error) {
	doc, err := d.f.Reader.Read(ctx, d.path, &d.on)
	if errors.Is(err, perdure.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	is := &reading{Document: doc, text: normal(doc.Text)}
	if len(doc.Beside) == 0 {
		return is, nil
	}
	l := lineage{reader: d.f.Reader, known: map[perdure.Hash]*workspace.Document{doc.Version: doc}}
	heads := []*workspace.Document{doc}
	for _, name := range doc.Beside[:min(len(doc.Beside), workspace.MaxBase-1)] { // those that follow come after these
		one, err := l.version(ctx, name)
		if err != nil {
			return nil, err
		}
		if one != nil && !one.Gone { // who removed it has nothing to show
			heads = append(heads, one)
		}
	}
	text, clash, err := l.merged(ctx, heads)
	if err != nil {
		return nil, err
	}
	if isJSON(d.path) && (clash || json.Valid([]byte(is.text)) && !json.Valid([]byte(text))) {
		for _, one := range heads[1:] {
			if other := normal(one.Text); other != is.text && !slices.Contains(is.rest, other) {
				is.rest = append(is.rest, other)
			}
		}
		return is, nil
	}
	is.text = text
	return is, nil
}

// apart writes versions that are not in the text of a document into documents beside it, and says where they are.
func (d *document) apart(ctx context.Context, is *reading) (clash string, err error) {
	var files []string
	for _, text := range is.rest {
		at, err := d.aside(ctx, d.f.keyOf(d.spot, nil, named(is.Document), text), text)
		if err != nil {
			return "", err
		}
		files = append(files, at)
	}
	if files == nil {
		return "", nil
	}
	return "another version in memory does not go together with it, and is in " + strings.Join(files, ", "), nil
}

// maxGenerations is how far back is looked for what versions were made of.
const maxGenerations = 64

// lineage is what versions were made of.
type lineage struct {
	reader *workspace.Reader
	known  map[perdure.Hash]*workspace.Document // nil: memory does not have it any more
	texts  map[string]string                    // of versions that were merged, by their names
	merges int                                  // how many were
}

// version is a version; nil: it is gone.
func (l *lineage) version(ctx context.Context, name perdure.Hash) (*workspace.Document, error) {
	if d, ok := l.known[name]; ok {
		return d, nil
	}
	d, err := l.reader.ReadVersion(ctx, name)
	if errors.Is(err, perdure.ErrNotFound) {
		d, err = nil, nil
	}
	if err == nil {
		l.known[name] = d
	}
	return d, err
}

// merged is one text of several versions. What each changed of that which they were made of is changed; where several
// changed the same words, or nobody knows what they were made of, all stand between marks, and clash is set.
func (l *lineage) merged(ctx context.Context, heads []*workspace.Document) (text string, clash bool, err error) {
	text = normal(heads[0].Text)
	for i, next := range heads[1:] {
		other := normal(next.Text)
		if other == text {
			continue
		}
		from, err := l.common(ctx, heads[:i+1], next)
		if err != nil {
			return "", false, err
		}
		m := merger{lines: true, versions: true, apart: len(from) == 0}
		base := ""
		if m.apart {
			base = strings.Join(common(split(text), split(other)), "\n")
		} else if base, err = l.base(ctx, from); err != nil {
			return "", false, err
		}
		text = m.text(base, text, other)
		l.merges++
		clash = clash || m.conflict
	}
	return text, clash, nil
}

// base is what versions that several were made of come to. Where copies wrote on top of all before them again and
// again, the same ones are asked for many times, and merged once.
func (l *lineage) base(ctx context.Context, from []*workspace.Document) (string, error) {
	var names strings.Builder
	for _, d := range from {
		names.Write(d.Version[:])
	}
	text, known := l.texts[names.String()]
	if known {
		return text, nil
	}
	text, _, err := l.merged(ctx, from)
	if err != nil {
		return "", err
	}
	if l.texts == nil {
		l.texts = map[string]string{}
	}
	l.texts[names.String()] = text
	return text, nil
}

// common is the nearest versions of which some and another were made, the last first.
func (l *lineage) common(ctx context.Context, some []*workspace.Document, other *workspace.Document) (
	[]*workspace.Document, error) {
	ours, theirs := &ancestors{}, &ancestors{}
	for _, d := range some {
		ours.add(d)
	}
	theirs.add(other)
	for range maxGenerations {
		found := slices.DeleteFunc(slices.Clone(ours.all), func(d *workspace.Document) bool {
			return !slices.Contains(theirs.all, d)
		})
		if len(found) > 0 {
			slices.SortFunc(found, func(a, b *workspace.Document) int {
				if a.Seq != b.Seq {
					return int(b.Seq - a.Seq)
				}
				return strings.Compare(string(a.Version[:]), string(b.Version[:]))
			})
			return found, nil
		}
		if err := errors.Join(ours.older(ctx, l), theirs.older(ctx, l)); err != nil {
			return nil, err
		}
		if len(ours.last)+len(theirs.last) == 0 {
			break
		}
	}
	return nil, nil
}

// ancestors are versions, those they were made of, and so on; last are the oldest so far.
type ancestors struct{ all, last []*workspace.Document }

func (a *ancestors) add(d *workspace.Document) {
	a.all, a.last = append(a.all, d), append(a.last, d)
}

// older adds what the last were made of.
func (a *ancestors) older(ctx context.Context, l *lineage) error {
	from := a.last
	a.last = nil
	for _, d := range from {
		for _, name := range d.Base {
			one, err := l.version(ctx, name)
			if err != nil {
				return err
			}
			if one != nil && !one.Gone && !slices.Contains(a.all, one) {
				a.add(one)
			}
		}
	}
	return nil
}
