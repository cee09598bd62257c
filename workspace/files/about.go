package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/perdure/perdure/workspace"
)

// aboutDir has what of documents their files do not say, for whoever restores memory from a clone.
const aboutDir = ".perdure-about"

// about is what of a document its text and place do not say.
type about struct {
	Kind  string   `json:"kind,omitempty"`
	Title string   `json:"title,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// aboutOf is what is to be kept beside the file of a document.
func aboutOf(d *workspace.Document, text string) (a about, any bool) {
	if d.Kind != cmp.Or(kindOf(d.Path), workspace.KindAt(d.Path)) {
		a.Kind = d.Kind
	}
	if d.Title != workspace.TitleOf(d.Path, text) {
		a.Title = d.Title
	}
	a.Tags = slices.DeleteFunc(slices.Clone(d.Tags), func(t string) bool { return strings.HasPrefix(t, "import:") })
	return a, a.Kind != "" || a.Title != "" || len(a.Tags) > 0
}

// relist reads the documents anew that this sync changed, and those that were not listed.
func (s *syncing) relist(ctx context.Context) error {
	changed := map[string]bool{}
	for _, c := range s.report.Changes {
		changed[c.File] = true
	}
	for file, src := range s.sources {
		d, ok := src.(*document)
		if !ok || s.listing[file] != nil && !changed[file] {
			continue
		}
		is, err := d.read(ctx)
		if err != nil {
			return err
		}
		if delete(s.listing, file); is != nil {
			s.listing[file] = is.Document
		}
	}
	return nil
}

// abouts are the files that are kept beside others.
func (t *tree) abouts() (files []string, err error) {
	err = fs.WalkDir(t.root.FS(), aboutDir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, file)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return files, err
}

// about brings what is kept beside files up to date: beside all, or those that were looked at.
func (s *syncing) about(ctx context.Context) error {
	if err := s.relist(ctx); err != nil {
		return err
	}
	want := map[string]string{}
	keep := func(file string, d *workspace.Document, text string) error {
		a, any := aboutOf(d, text)
		b, err := json.Marshal(a)
		if any {
			want[aboutDir+"/"+file+".json"] = string(b) + "\n"
		}
		return err
	}
	for file, d := range s.listing {
		r := s.records[file]
		if r == nil || r.base == nil || isPage(file) {
			continue
		}
		if err := keep(file, d, *r.base); err != nil {
			return err
		}
	}
	if l, ok := s.sources[learnedName].(*learned); ok {
		if err := l.each(ctx, keep); err != nil {
			return err
		}
	}
	have, err := s.tree.abouts()
	if err != nil {
		return err
	}
	for _, file := range have {
		of := strings.TrimSuffix(strings.TrimPrefix(file, aboutDir+"/"), ".json")
		if _, ok := want[file]; !ok && (!s.partly || s.sources[of] != nil || path.Dir(of) == learnedDir) {
			if err := s.tree.root.Remove(file); err != nil {
				return err
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if err := s.keepAbout(file, want[file]); err != nil {
			return err
		}
	}
	return nil
}

// keepAbout writes what is kept beside a file, if it says something else.
func (s *syncing) keepAbout(file, text string) error {
	there, err := s.tree.read(file)
	switch {
	case err != nil:
		return err
	case there == nil:
		return s.tree.create(file, text)
	case there.text == text:
		return nil
	}
	theirs, err := s.tree.replace(file, there, text)
	if theirs != nil || errors.Is(err, errChanged) {
		return s.tree.drop(file) // nobody but us writes it
	}
	return err
}

// restore adds to a new document what is kept beside its file. Checks are not among it: whoever wrote a clone has no
// say in what is run here.
func (f *Folder) restore(d *workspace.Draft, s spot) {
	file, ok := f.plan.fileOf(s)
	if !ok {
		return
	}
	there, err := f.tree.read(path.Clean(aboutDir + "/" + file + ".json"))
	if err != nil || there == nil {
		return // it says nothing more
	}
	var a about
	if json.Unmarshal([]byte(there.text), &a) != nil {
		return
	}
	if a.Kind != "" {
		d.Kind = a.Kind
	}
	d.Title, d.Tags = a.Title, a.Tags
}
