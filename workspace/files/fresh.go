package files

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// fresh makes the files of documents that the folder has nothing of, many at a time: what each waits for, that it is
// noted and durable, is waited for once for all of them. Killed at any point, they are found as if they had been made
// one by one; what somebody else does with such a file meanwhile is left to its own sync.
func (s *syncing) fresh(ctx context.Context) error {
	if s.looks || s.partly {
		return nil
	}
	var names []string
	for _, file := range slices.Sorted(maps.Keys(s.sources)) {
		if r := s.records[file]; r != nil && (r.base != nil || r.incoming != nil || r.outgoing != nil) ||
			s.current[file] == "" || s.parts[file] || isPage(file) {
			continue
		}
		if there, err := s.tree.read(file); there == nil && err == nil {
			names = append(names, file)
		}
	}
	if len(names) < 2 { // the usual
		return nil
	}
	for some := range slices.Chunk(names, page) {
		if err := s.make(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// make makes files that are not there.
func (s *syncing) make(ctx context.Context, names []string) error {
	sent, err := s.texts(ctx, names)
	if err != nil {
		return err
	}
	if err := errors.Join(s.State.keep(ctx, s.id, sent...), s.at("sends")); err != nil {
		return err
	}
	made, dirs := s.begun(sent), map[string]bool{}
	for _, r := range sent {
		s.records[r.path] = r
	}
	for _, r := range made {
		dirs[path.Dir(r.path)] = true
	}
	for dir := range dirs {
		if err := s.tree.root.Sync(dir); err != nil {
			return err
		}
	}
	if err := s.at("created"); err != nil {
		return err
	}
	for _, r := range made {
		if err := s.shown(ctx, r.path, s.sources[r.path], *r.outgoing, Written, ""); err != nil {
			return err
		}
		r.base, r.outgoing, r.versions = r.outgoing, nil, r.versions[len(unsettled):]
	}
	return s.State.keep(ctx, s.id, made...)
}

// texts are what files are to say that are not there. Those of which memory does not have one text as it was listed are
// left to their own sync.
func (s *syncing) texts(ctx context.Context, names []string) (sent []*record, err error) {
	files, docs := map[perdure.Hash]string{}, []*workspace.Document{}
	for _, file := range names {
		if d := s.listing[file]; len(d.Beside) == 0 {
			files[d.Version], docs = file, append(docs, d)
		}
	}
	if docs, err = s.Reader.Texts(ctx, docs); err != nil {
		return nil, err
	}
	for _, d := range docs {
		text := normal(d.Text)
		sent = append(sent, &record{path: files[d.Version], outgoing: &text, versions: unsettled + named(d)})
	}
	return sent, nil
}

// atOnce is how many files are written at once: a disk makes several durable in the time of one.
const atOnce = 16

// begun begins files, and says which of them: whoever syncs another alone says what is wrong with it.
func (s *syncing) begun(sent []*record) (made []*record) {
	failed := make([]bool, len(sent))
	var all sync.WaitGroup
	for n := range atOnce {
		all.Go(func() {
			for i := n; i < len(sent); i += atOnce {
				failed[i] = s.tree.begin(sent[i].path, *sent[i].outgoing) != nil
			}
		})
	}
	all.Wait()
	for i, r := range sent {
		if !failed[i] {
			made = append(made, r)
		}
	}
	return made
}
