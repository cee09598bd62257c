package files

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/perdure/perdure"
)

// renames finds files that a person gave another name, one by one or with their folder, and renames their documents:
// the text is gone at one path, and stands at another where nothing was. Else memory would have it twice. What went to
// where more see it is promoted. What is not the only one with its text, nor with its name, is no rename; neither is
// what fewer would see.
func (s *syncing) renames(ctx context.Context) error {
	went := s.went()
	if len(went) == 0 { // the usual
		return nil
	}
	came, err := s.came(ctx, went)
	if err != nil {
		return err
	}
	for _, text := range slices.SortedFunc(maps.Keys(came), perdure.Hash.Compare) {
		for from, to := range pairs(went[text], came[text]) {
			if err := s.rename(ctx, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// went are files that are not there any more, by the hashes of their texts.
func (s *syncing) went() map[perdure.Hash][]string {
	went := map[perdure.Hash][]string{}
	for file, r := range s.records {
		if _, ok := s.sources[file].(*document); !ok || r.base == nil || r.incoming != nil || r.outgoing != nil ||
			r.lost {
			continue
		}
		if s.tree.lacks(file) {
			text := perdure.HashOf([]byte(*r.base))
			went[text] = append(went[text], file)
		}
	}
	return went
}

// came are files that memory has nothing of and that have one of the texts that went, by their hashes.
func (s *syncing) came(ctx context.Context, went map[perdure.Hash][]string) (map[perdure.Hash][]string, error) {
	came := map[perdure.Hash][]string{}
	for file, src := range s.sources {
		_, ok := src.(*document)
		if r := s.records[file]; !ok || r != nil && (r.base != nil || r.incoming != nil || r.outgoing != nil) ||
			s.listing[file] != nil || s.parts[file] {
			continue
		}
		there, err := s.tree.read(file)
		if err != nil || there == nil {
			continue // whoever syncs it says what is wrong
		}
		text := perdure.HashOf([]byte(there.text))
		if went[text] == nil {
			continue
		}
		if _, _, ok, err := src.now(ctx); err != nil {
			return nil, err
		} else if !ok {
			came[text] = append(came[text], file)
		}
	}
	return came, nil
}

// pairs are the old and new names of files with one text: of a single one, or of those whose last part stayed.
func pairs(went, came []string) map[string]string {
	if len(went) == 1 && len(came) == 1 {
		return map[string]string{went[0]: came[0]}
	}
	byName := func(files []string) map[string][]string {
		all := map[string][]string{}
		for _, f := range files {
			all[path.Base(f)] = append(all[path.Base(f)], f)
		}
		return all
	}
	all, to := map[string]string{}, byName(came)
	for name, from := range byName(went) {
		if len(from) == 1 && len(to[name]) == 1 {
			all[from[0]] = to[name][0]
		}
	}
	return all
}

// rename renames the document of a file, and remembers what a person has seen of it. Where that is refused, both files
// are synced as they are.
func (s *syncing) rename(ctx context.Context, from, to string) error {
	old, next := s.sources[from].(*document), s.sources[to].(*document)
	why := "from " + from
	if old.on != next.on {
		if !next.on.Wider(old.on) {
			return nil
		}
		why += ", which has a link to it"
	}
	if !s.looks {
		err := s.renameTo(ctx, old, next)
		if errors.Is(err, perdure.ErrConflict) || errors.Is(err, perdure.ErrNotFound) || s.isAbout(err) {
			return nil
		}
		if err == nil {
			err = s.at("renamed")
		}
		if err != nil {
			return err
		}
	}
	r := s.records[from]
	moved := &record{path: to, base: r.base, versions: r.versions}
	s.records[to], s.records[from] = moved, &record{path: from}
	delete(s.listing, from)
	delete(s.current, from)
	s.add(to, Renamed, why)
	s.report.Changes[len(s.report.Changes)-1].from = from
	if s.looks {
		delete(s.sources, from)
		delete(s.sources, to)
		s.report.Files++
		return nil
	}
	if err := s.State.keep(ctx, s.id, moved); err != nil {
		return err
	}
	return s.State.forget(ctx, s.id, from)
}

func (s *syncing) renameTo(ctx context.Context, old, next *document) (err error) {
	if old.on == next.on {
		_, err = s.person().Rename(ctx, old.path, next.path, &old.on)
	} else {
		_, err = s.person().Promote(ctx, old.path, &old.on, next.on, next.path)
	}
	return err
}
