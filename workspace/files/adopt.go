package files

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/workspace"
)

// adopt takes in files that memory has nothing of, many at a time: what each waits for, that it is noted and durable,
// is waited for once for all of them. Killed at any point, they are found as if they had been taken in one by one; what
// cannot be taken in so is left to its own sync.
func (s *syncing) adopt(ctx context.Context) error {
	if s.looks || s.partly {
		return nil
	}
	var some []*record
	size := 0
	take := func() error {
		all := some
		some, size = nil, 0
		return s.takeAll(ctx, all)
	}
	for _, file := range slices.Sorted(maps.Keys(s.sources)) {
		if r := s.records[file]; r != nil && (r.base != nil || r.incoming != nil || r.outgoing != nil) ||
			s.current[file] != "" || s.listing[file] != nil || s.parts[file] || isPage(file) || isJSON(file) {
			continue
		}
		there, err := s.tree.read(file)
		if err != nil || there == nil || strings.TrimSpace(there.text) == "" {
			continue
		}
		if len(some) == workspace.ImportBatch || size+len(there.text) > workspace.ImportBytes {
			if err := take(); err != nil {
				return err
			}
		}
		some, size = append(some, &record{path: file, incoming: &there.text}), size+len(there.text)
	}
	return take()
}

// takeAll takes in texts that are new.
func (s *syncing) takeAll(ctx context.Context, all []*record) error {
	if len(all) < 2 { // the usual
		return nil
	}
	if err := s.State.keep(ctx, s.id, all...); err != nil {
		return err
	}
	var drafts []workspace.Draft
	var keys []string
	var of []*record
	for _, r := range all {
		s.records[r.path] = r
		d, is := s.sources[r.path].(*document)
		if !is {
			continue
		}
		draft := d.fresh(*r.incoming)
		if s.Reader.MayRead(ctx, draft) == nil { // else it could not be shown again
			drafts, keys, of = append(drafts, draft), append(keys, s.keyOf(d.spot, nil, "", *r.incoming)), append(of, r)
		}
	}
	if err := s.at("incoming"); err != nil {
		return err
	}
	docs, err := s.person().WriteNew(ctx, drafts, keys)
	if err == nil {
		err = s.at("taken")
	}
	if err != nil {
		return err
	}
	var taken []*record
	for i, r := range of {
		if docs[i] == nil {
			continue
		}
		r.base, r.incoming, r.versions = r.incoming, nil, unsettled+named(docs[i])
		if normal(docs[i].Text) == *r.base {
			r.versions = named(docs[i])
			s.adopted[r.path] = true
			s.report.Files++
		}
		clash := ""
		if hasMarks(*r.base) {
			clash = marksStay
		}
		s.tookIn(r.path, r, *r.base, clash, "")
		taken = append(taken, r)
	}
	if err := s.State.keep(ctx, s.id, taken...); err != nil {
		return err
	}
	return s.at("based")
}
