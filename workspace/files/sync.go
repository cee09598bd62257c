package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// What became of a file.
const (
	Taken    = "taken"    // what a person changed is in memory
	Conflict = "conflict" // it is, too, and so is what did not go together with it; both are shown
	Written  = "written"  // it shows what memory says now
	Removed  = "removed"  // its document is gone, so it is
	Deleted  = "deleted"  // its document was removed, as the file was
	PutBack  = "put-back" // it was removed, and its document was not
	Refused  = "refused"  // what a person changed cannot be in memory; the file stays as it is
	Waits    = "waits"    // it is being written; the next sync looks at it
)

// Change is what became of one file.
type Change struct {
	File   string `json:"file"`
	Status string `json:"status"`
	Why    string `json:"why,omitempty"`
}

// Report is what a sync did. Files that needed nothing are not in it.
type Report struct {
	Dir     string   `json:"dir"`
	Role    string   `json:"role"`
	Files   int      `json:"files"` // in the folder, of memory
	Changes []Change `json:"changes"`
	Commit  string   `json:"commit,omitempty"` // the short name of the commit that was made
	Notes   []string `json:"notes,omitempty"`
}

// Sync brings a folder and memory together: what people changed is taken in, and what memory says is projected. Done
// again, it changes nothing.
func (f *Folder) Sync(ctx context.Context) (*Report, error) {
	s, err := f.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("sync %s: %w", f.Dir, err)
	}
	if err = s.settledGit(ctx); err == nil {
		err = s.all(ctx)
	}
	if err == nil {
		err = s.commit(ctx)
	}
	if err == nil && f.only != nil { // not all were looked at
		err = f.State.db.QueryRowContext(ctx, "SELECT count(*) FROM file WHERE folder=? AND base IS NOT NULL",
			f.id).Scan(&s.report.Files)
	}
	if err = errors.Join(err, f.close()); err != nil {
		return s.report, fmt.Errorf("sync %s: %w", f.Dir, err)
	}
	return s.report, nil
}

// syncing is one sync.
type syncing struct {
	*Folder
	report  *Report
	records map[string]*record
	sources map[string]source
	listing map[string]*workspace.Document
	current map[string]string // the versions of documents, by file
	blobs   map[string]string // what git has of the files, at the commit that was synced last
	parts   map[string]bool   // files that a killed process was writing
}

// begin looks at what there is.
func (f *Folder) begin(ctx context.Context) (*syncing, error) {
	if err := f.open(ctx); err != nil {
		return nil, err
	}
	s := &syncing{Folder: f, report: &Report{Dir: f.Dir, Role: f.Reader.Role(), Changes: []Change{}},
		sources: map[string]source{}, listing: map[string]*workspace.Document{}, current: map[string]string{},
		parts: map[string]bool{}}
	err := s.gather(ctx)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return s, nil
}

// gather finds the files there are or should be.
func (s *syncing) gather(ctx context.Context) (err error) {
	if err := s.follow(ctx); err != nil {
		return err
	}
	docs, mark, whole, err := s.Reader.Since(ctx, s.upTo)
	if err != nil {
		return err
	}
	s.upTo = mark
	if s.only != nil && !whole {
		return s.some(ctx, docs)
	}
	if s.records, err = s.State.records(ctx, s.id); err != nil {
		return err
	}
	if err := s.documents(ctx); err != nil {
		return err
	}
	s.pages()
	add := func(file string) {
		if at, ok := s.plan.spotOf(file); ok && s.sources[file] == nil {
			if _, month := s.plan.month(at); !month {
				s.sources[file] = &document{s.Folder, at}
			}
		}
	}
	for file := range s.records {
		add(file)
	}
	return s.tree.walk(add, func(part string) { s.parts[ofPart(part)] = true })
}

// some finds the files that may have changed, and those of documents that have.
func (s *syncing) some(ctx context.Context, docs []*workspace.Document) error {
	for _, d := range docs {
		at := spot{d.Path, workspace.Visibility{Tier: d.Visibility.Tier, Scope: d.Visibility.Scope}}
		_, month := s.plan.month(at)
		if file, ok := s.plan.fileOf(at); ok && !month {
			s.sources[file] = &document{s.Folder, at}
		}
	}
	for file := range s.only {
		at, ok := s.plan.spotOf(file)
		if _, month := s.plan.month(at); ok && !month && s.sources[file] == nil {
			s.sources[file] = &document{s.Folder, at}
		}
	}
	s.pages()
	s.records = map[string]*record{}
	for file := range s.sources {
		r, err := s.State.record(ctx, s.id, file)
		if err != nil {
			return err
		}
		s.records[file] = r
	}
	return nil
}

// page is how many documents are listed at a time.
const page = 500

// documents finds the documents that the role sees.
func (s *syncing) documents(ctx context.Context) error {
	after := ""
	for {
		docs, err := s.Reader.List(ctx, workspace.Listed{Limit: page, After: after})
		if err != nil {
			return err
		}
		for _, d := range docs {
			s.listed(d)
			after = d.Path
		}
		if len(docs) < page {
			return nil
		}
	}
}

// listed adds the file of a document.
func (s *syncing) listed(d *workspace.Document) {
	at := spot{d.Path, workspace.Visibility{Tier: d.Visibility.Tier, Scope: d.Visibility.Scope}}
	if _, month := s.plan.month(at); month {
		return
	}
	file, ok := s.plan.fileOf(at)
	switch {
	case !ok:
		s.add(d.Path, Refused, "a file of that name would be hidden, or is something else; it is in memory only")
	case s.sources[file] != nil: // two memories have it: which counts, reading says
		s.current[file] = ""
	default:
		s.sources[file], s.current[file], s.listing[file] = &document{s.Folder, at}, named(d), d
	}
}

func (s *syncing) add(file, status, why string) {
	s.report.Changes = append(s.report.Changes, Change{file, status, why})
}

// all syncs every file, the pages last: they follow from the others.
func (s *syncing) all(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(s.sources))
	for _, pages := range []bool{false, true} {
		if pages {
			if err := s.follow(ctx); err != nil { // what was taken in may be the end of a session
				return err
			}
		}
		for _, file := range names {
			if isPage(file) != pages {
				continue
			}
			if err := s.one(ctx, file); err != nil {
				return err
			}
		}
	}
	for _, at := range s.asides {
		file, ok := s.plan.fileOf(at)
		if s.sources[file] != nil || !ok {
			continue
		}
		s.sources[file] = &document{s.Folder, at}
		if err := s.one(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// isPage reports whether a file is one that follows from others.
func isPage(name string) bool {
	return name == progressName || name == errorsName || name == learnedName
}

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
		s.report.Files++ // the usual
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
		return s.project(ctx, file, r, there, text, versions)
	case r.base == nil && ok && there.text == text:
		s.report.Files++
		return s.known(ctx, r, text, versions)
	}
	if ok && r.base != nil && s.restored(file, there) {
		return s.again(ctx, file, r, there, text, versions)
	}
	return s.edited(ctx, file, r, src, there)
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
	r.base, r.versions, r.incoming, r.outgoing = &text, versions, nil, nil
	return s.State.keep(ctx, s.id, r)
}

// missing makes a file that is not there. One that a person took away is put back, unless that is to count.
func (s *syncing) missing(ctx context.Context, file string, r *record, src source, text, versions string) error {
	if r.base != nil && s.Delete && versions != "" && r.versions == versions {
		s.add(file, Deleted, "")
		if s.looks {
			return nil
		}
		if err := src.remove(ctx); err != nil {
			return err
		}
		return s.gone(ctx, r)
	}
	status, why := Written, ""
	if r.base != nil && r.outgoing == nil {
		status, why = PutBack, "its document is in memory; perdure doc rm removes it, or sync with --delete"
	}
	s.report.Files++
	if s.looks {
		s.add(file, status, why)
		return nil
	}
	if err := s.sends(ctx, r, text); err != nil {
		return err
	}
	if err := s.ofFile(s.tree.create(file, text)); err != nil {
		return err
	}
	if err := s.at("created"); err != nil {
		return err
	}
	s.add(file, status, why)
	return s.known(ctx, r, text, versions)
}

// sends notes that a text is about to be projected.
func (s *syncing) sends(ctx context.Context, r *record, text string) error {
	r.outgoing = &text
	if err := s.State.keep(ctx, s.id, r); err != nil {
		return err
	}
	return s.at("sends")
}

// takeAway removes the file of a document that is gone.
func (s *syncing) takeAway(ctx context.Context, file string, r *record, there *content) error {
	s.add(file, Removed, "")
	if s.looks {
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
	return s.gone(ctx, r)
}

// project brings a file that nobody changed up to date.
func (s *syncing) project(ctx context.Context, file string, r *record, there *content, text, versions string) error {
	if s.report.Files++; text == there.text {
		return s.known(ctx, r, text, versions)
	}
	if s.looks {
		s.add(file, Written, "")
		return nil
	}
	if err := s.put(ctx, file, r, there, text, versions); err != nil {
		s.report.Files--
		return err
	}
	s.add(file, Written, "")
	return nil
}

// put replaces what a file holds.
func (s *syncing) put(ctx context.Context, file string, r *record, there *content, text, versions string) error {
	if err := s.sends(ctx, r, text); err != nil {
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

// edited takes in what a person changed, and shows what became of it.
func (s *syncing) edited(ctx context.Context, file string, r *record, src source, there *content) error {
	if len(there.raw) == 0 && r.base != nil && *r.base != "" && time.Since(there.info.ModTime()) < settle {
		return errWaits
	}
	if s.looks {
		s.report.Files++
		s.add(file, Taken, "")
		return nil
	}
	r.incoming = &there.text
	if err := s.State.keep(ctx, s.id, r); err != nil {
		return err
	}
	if err := s.at("incoming"); err != nil {
		return err
	}
	if err := s.takeIn(ctx, file, r, src); err != nil {
		return err
	}
	text, versions, ok, err := src.now(ctx)
	switch {
	case err != nil:
		return err
	case !ok: // it says nothing: it was emptied
		return s.known(ctx, r, there.text, "")
	}
	s.report.Files++
	if text == there.text {
		return s.known(ctx, r, text, versions)
	}
	return s.put(ctx, file, r, there, text, versions)
}

// takeIn takes in what is on its way into memory.
func (s *syncing) takeIn(ctx context.Context, file string, r *record, src source) error {
	conflict, err := src.take(ctx, r.base, *r.incoming)
	if err != nil && (s.isAbout(err) || s.guards(*r.incoming)) {
		return s.refused(ctx, file, r, err)
	}
	if err == nil {
		err = s.at("taken")
	}
	if err != nil {
		return err
	}
	shown := r.incoming
	if r.outgoing != nil { // it was displaced by that
		shown = r.outgoing
	}
	r.base, r.incoming, r.outgoing, r.versions = shown, nil, nil, ""
	if err := s.State.keep(ctx, s.id, r); err != nil {
		return err
	}
	status, why := Taken, ""
	if conflict {
		status, why = Conflict, "both texts are in it, between marks"
	}
	s.add(file, status, why)
	return s.at("based")
}

// refused leaves to a person what cannot be in memory: it is in the file, or is put there again.
func (s *syncing) refused(ctx context.Context, file string, r *record, why error) error {
	there, err := s.tree.read(file)
	switch {
	case err != nil:
		return s.ofFile(err)
	case there == nil:
		err = s.tree.create(file, *r.incoming)
	case there.text != *r.incoming && r.outgoing != nil && there.text == *r.outgoing:
		_, err = s.tree.replace(file, there, *r.incoming)
		err = errors.Join(err, s.tree.drop(file))
	}
	if err != nil {
		return s.ofFile(err)
	}
	r.incoming, r.outgoing = nil, nil
	return errors.Join(fileError{why}, s.State.keep(ctx, s.id, r))
}

// guards reports whether a text holds what must not be in memory.
func (s *syncing) guards(text string) bool {
	g := s.person().Node.Guard
	return g != nil && g.Check([]byte(text)) != nil
}

// resume ends what a killed process began with a file.
func (s *syncing) resume(ctx context.Context, file string, r *record, src source) error {
	if s.looks {
		return nil
	}
	if s.parts[file] {
		if err := s.leftover(ctx, file, r); err != nil {
			return err
		}
		delete(s.parts, file)
	}
	if r.incoming != nil {
		if err := s.takeIn(ctx, file, r, src); err != nil {
			return err
		}
	}
	if r.outgoing == nil {
		return nil
	}
	there, err := s.tree.read(file)
	if err != nil {
		return s.ofFile(err)
	}
	if there == nil { // it was never made, or taken away since
		return nil
	}
	if r.base == nil || nearer(there.text, *r.outgoing, *r.base) {
		r.base, r.versions = r.outgoing, ""
	}
	r.outgoing = nil
	return s.State.keep(ctx, s.id, r)
}

// nearer reports whether a text was made of one, rather than of another.
func nearer(text, one, other string) bool {
	lines := split(text)
	count := func(of string) int {
		theirs := split(of)
		return 2*len(common(theirs, lines)) - len(theirs)
	}
	return text == one || text != other && count(one) >= count(other)
}

// leftover is about the part of a file that a killed process left: what it was writing, or what it had replaced.
func (s *syncing) leftover(ctx context.Context, file string, r *record) error {
	part, err := s.tree.read(partOf(file))
	if err != nil {
		return s.ofFile(err)
	}
	there, err := s.tree.read(file)
	if err != nil {
		return s.ofFile(err)
	}
	ours := part == nil || r.base != nil && part.text == *r.base || r.outgoing != nil &&
		strings.HasPrefix(*r.outgoing, part.text) || there != nil && r.base != nil && there.text == *r.base ||
		strings.Trim(part.text, "\x00") == ""
	if !ours && r.incoming == nil {
		r.incoming = &part.text
		if err := s.State.keep(ctx, s.id, r); err != nil {
			return err
		}
	}
	return s.tree.drop(file)
}
