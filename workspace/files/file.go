package files

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// maxRounds bounds how often a file is looked at again because somebody changed it meanwhile.
const maxRounds = 8

// one syncs a file. What is wrong with the file alone is reported; the error says that no other can be synced either.
func (s *syncing) one(ctx context.Context, file string) error {
	r := s.records[file]
	if r == nil {
		r = &record{path: file}
		s.records[file] = r
	}
	for range maxRounds {
		err := s.round(ctx, file, r)
		switch {
		case errors.Is(err, errChanged):
			continue
		case errors.Is(err, errWaits):
			s.add(file, Waits, err.Error())
			return nil
		case s.isAbout(err):
			s.add(file, Refused, strings.TrimSpace(err.Error()))
			return nil
		}
		return err
	}
	s.add(file, Waits, "somebody writes it without a pause")
	return nil
}

// fileError is an error of one file.
type fileError struct{ error }

func (e fileError) Unwrap() error { return e.error }

// isAbout reports whether an error is about one file, so that the others can be synced all the same.
func (s *syncing) isAbout(err error) bool {
	var one fileError
	return errors.As(err, &one) || errors.Is(err, errText) || errors.Is(err, errSealed) ||
		errors.Is(err, perdure.ErrDenied) || errors.Is(err, perdure.ErrInvalid) || errors.Is(err, perdure.ErrRejected)
}

var errWaits = errors.New("it was emptied a moment ago, as editors do before they write")

// settle is for how long an emptied file may be one that an editor is about to write.
const settle = 2 * time.Second

// round brings one file and its source together.
func (s *syncing) round(ctx context.Context, file string, r *record) error {
	src := s.sources[file]
	if err := s.resume(ctx, file, r, src); err != nil {
		return err
	}
	there, err := s.tree.read(file)
	if err != nil {
		return s.ofFile(err)
	}
	if there != nil && r.base != nil && there.text == *r.base && r.incoming == nil && r.outgoing == nil &&
		s.current[file] != "" && s.current[file] == r.versions {
		s.same(file, there.text) // the usual
		return nil
	}
	text, versions, ok, err := src.now(ctx)
	if err != nil {
		return err
	}
	switch {
	case there == nil && !ok:
		return s.gone(ctx, r)
	case there == nil:
		return s.missing(ctx, file, r, src, text, versions)
	case r.base != nil && there.text == *r.base && !ok:
		return s.takeAway(ctx, file, r, there)
	case r.base != nil && there.text == *r.base:
		return s.project(ctx, file, r, src, there, text, versions)
	case r.base == nil && ok && there.text == text:
		s.same(file, text)
		return s.known(ctx, r, text, versions)
	}
	if ok && r.base != nil && s.restored(file, there) {
		return s.again(ctx, file, r, there, text, versions)
	}
	if ok && r.base != nil {
		s.rebase(ctx, file, r, there)
	}
	both := ok && (r.base == nil || text != *r.base)
	return s.edited(ctx, file, r, src, there, both)
}

// again projects a file anew that git put back to an earlier state.
func (s *syncing) again(ctx context.Context, file string, r *record, there *content, text, versions string) error {
	if text == there.text {
		return s.known(ctx, r, text, versions)
	}
	if !s.looks {
		if err := s.put(ctx, file, r, there, text, versions); err != nil {
			return err
		}
	}
	s.report.Files++
	s.add(file, PutBack, "git put it back to what was committed; memory has gone on since")
	return nil
}

// ofFile is an error of one file, unless nothing can be done at all.
func (s *syncing) ofFile(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, errCrash) || errors.Is(err, errChanged) {
		return err
	}
	return fileError{err}
}

// errCrash is what tests crash with.
var errCrash = errors.New("a crash")

// gone forgets a file that is neither in the folder nor in memory.
func (s *syncing) gone(ctx context.Context, r *record) error {
	if r.base == nil && r.incoming == nil && r.outgoing == nil || s.looks {
		return nil
	}
	*r = record{path: r.path}
	return s.State.forget(ctx, s.id, r.path)
}

// known notes which text a person sees.
func (s *syncing) known(ctx context.Context, r *record, text, versions string) error {
	if r.base != nil && *r.base == text && r.versions == versions && r.incoming == nil && r.outgoing == nil || s.looks {
		return nil
	}
	r.base, r.versions, r.incoming, r.outgoing, r.lost = &text, versions, nil, nil, false
	return s.State.keep(ctx, s.id, r)
}

// missing makes a file that is not there. One that a person took away is put back, unless that is to count.
func (s *syncing) missing(ctx context.Context, file string, r *record, src source, text, versions string) error {
	if r.base != nil && s.Delete && !follows(file) && versions != "" && r.versions == versions {
		if !s.looks {
			err := s.at("removes")
			if err == nil {
				err = src.remove(ctx, versions)
			}
			if errors.Is(err, perdure.ErrConflict) {
				return errChanged // somebody wrote what this person has not seen
			}
			if err == nil {
				err = s.gone(ctx, r)
			}
			if err != nil {
				return err
			}
		}
		s.add(file, Deleted, "")
		return nil
	}
	status, why := Written, ""
	switch {
	case r.base == nil || r.outgoing != nil:
	case follows(file):
		status, why = PutBack, "it follows from memory, and is not a document that could be removed"
	default:
		status, why = PutBack, "its document is in memory; perdure doc rm removes it, or sync with --delete"
	}
	s.report.Files++
	if s.looks {
		s.add(file, status, why)
		return nil
	}
	if err := s.sends(ctx, r, text, versions); err != nil {
		return err
	}
	if err := s.ofFile(s.tree.create(file, text)); err != nil {
		return err
	}
	if err := s.at("created"); err != nil {
		return err
	}
	if err := s.shown(ctx, file, src, text, status, why); err != nil {
		return err
	}
	return s.known(ctx, r, text, versions)
}

// shown reports that a file shows what memory says; where versions do not go together in it, that is a conflict.
func (s *syncing) shown(ctx context.Context, file string, src source, text, status, why string) error {
	clash := ""
	if d, ok := src.(*document); ok && isJSON(file) {
		is, err := d.read(ctx)
		if is == nil || err != nil {
			return err
		}
		if clash, err = d.apart(ctx, is); s.isAbout(err) { // they may not write there
			clash, err = "memory has another version, which does not go together with it: see perdure doc history", nil
		}
		if err != nil {
			return err
		}
	} else if hasMarks(text) {
		clash = marked
	}
	if clash != "" && status == Written {
		status, why = Conflict, clash
	}
	s.add(file, status, why)
	return nil
}

// sends notes that a text is about to be projected.
func (s *syncing) sends(ctx context.Context, r *record, text, versions string) error {
	r.outgoing, r.versions = &text, unsettled+versions
	if err := s.State.keep(ctx, s.id, r); err != nil {
		return err
	}
	return s.at("sends")
}

// takeAway removes the file of a document that is gone.
func (s *syncing) takeAway(ctx context.Context, file string, r *record, there *content) error {
	if s.looks {
		s.add(file, Removed, "")
		return nil
	}
	theirs, err := s.tree.remove(file, there)
	if err != nil {
		return s.ofFile(err)
	}
	if err := s.at("removed"); err != nil {
		return err
	}
	if theirs != nil {
		return s.displaced(ctx, file, r, theirs)
	}
	s.add(file, Removed, "")
	return s.gone(ctx, r)
}

// project brings a file that nobody changed up to date.
func (s *syncing) project(ctx context.Context, file string, r *record, src source, there *content,
	text, versions string) error {
	if text == there.text {
		s.same(file, text)
		return s.known(ctx, r, text, versions)
	}
	s.report.Files++
	if s.looks {
		s.add(file, Written, "")
		return nil
	}
	if err := s.put(ctx, file, r, there, text, versions); err != nil {
		s.report.Files--
		return err
	}
	return s.shown(ctx, file, src, text, Written, "")
}

// put replaces what a file holds.
func (s *syncing) put(ctx context.Context, file string, r *record, there *content, text, versions string) error {
	if err := s.sends(ctx, r, text, versions); err != nil {
		return err
	}
	theirs, err := s.tree.replace(file, there, text)
	if errors.Is(err, errChanged) {
		r.outgoing = nil
		return errors.Join(err, s.State.keep(ctx, s.id, r))
	}
	if err != nil {
		return s.ofFile(err)
	}
	if err := s.at("replaced"); err != nil {
		return err
	}
	if theirs != nil {
		return s.displaced(ctx, file, r, theirs)
	}
	return s.known(ctx, r, text, versions)
}

// displaced keeps what somebody wrote in the moment before a file was replaced, and has it taken in.
func (s *syncing) displaced(ctx context.Context, file string, r *record, theirs *content) error {
	r.incoming = &theirs.text
	if err := s.State.keep(ctx, s.id, r); err != nil {
		return err
	}
	return errors.Join(errChanged, s.tree.drop(file))
}
