package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// What became of a file.
const (
	Taken    = "taken"    // what a person changed is in memory
	Conflict = "conflict" // it is, too, and so is what did not go together with it; both are shown
	Written  = "written"  // it shows what memory says now
	Removed  = "removed"  // its document is gone, so it is
	Deleted  = "deleted"  // its document was removed, as the file was
	Renamed  = "renamed"  // its document was renamed, as the file was
	PutBack  = "put-back" // it was removed, and its document was not
	Refused  = "refused"  // what a person changed cannot be in memory; the file stays as it is
	Waits    = "waits"    // it is being written; the next sync looks at it
)

// Change is what became of one file.
type Change struct {
	File   string `json:"file"`
	Status string `json:"status"`
	Why    string `json:"why,omitempty"`

	unseen bool   // it is no file at all, so that nobody changed it
	stays  bool   // nothing was done to it, or in memory: it needs a person as it did before
	from   string // of a renamed one: its name before
}

// Report is what a sync did. Files that needed nothing, and need nobody, are not in it.
type Report struct {
	Dir     string   `json:"dir"`
	Role    string   `json:"role"`
	Files   int      `json:"files"` // in the folder, of memory
	Changes []Change `json:"changes"`
	Commit  string   `json:"commit,omitempty"` // the short name of the commit that was made
	Notes   []string `json:"notes,omitempty"`
	Dry     bool     `json:"dry,omitempty"` // nothing was done: it is what a sync would do
}

// Err says of how many files somebody has to look at what became of them; nil: of none.
func (r *Report) Err() error {
	if r == nil {
		return nil
	}
	conflicts, refused := int64(0), int64(0)
	for _, c := range r.Changes {
		switch {
		case c.Status == Conflict:
			conflicts++
		case c.Status == Refused && !c.unseen:
			refused++
		}
	}
	var parts []string
	if conflicts > 0 {
		parts = append(parts, fmt.Sprintf("%d with a conflict", conflicts))
	}
	if refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", refused))
	}
	if parts == nil {
		return nil
	}
	return perdure.WithHint(fmt.Errorf("%s: some files need a person: %s", r.Dir, strings.Join(parts, ", ")),
		"correct them as it says above, and sync again")
}

// Sync brings a folder and memory together: what people changed is taken in, and what memory says is projected. Done
// again, it changes nothing.
func (f *Folder) Sync(ctx context.Context) (*Report, error) {
	s, err := f.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("sync %s: %w", f.Dir, f.State.named(ctx, err))
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
		return s.report, fmt.Errorf("sync %s: %w", f.Dir, f.State.named(ctx, err))
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
	blobs   map[string]blob   // what git has of the files, at the commit that was synced last
	parts   map[string]bool   // files that a killed process was writing
	partly  bool              // not all files are looked at
	adopted map[string]bool   // files that are in memory as they are
}

// begin looks at what there is.
func (f *Folder) begin(ctx context.Context) (*syncing, error) {
	if err := f.open(ctx); err != nil {
		return nil, err
	}
	s := &syncing{Folder: f, report: &Report{Dir: f.Dir, Role: f.Reader.Role(), Changes: []Change{}},
		sources: map[string]source{}, listing: map[string]*workspace.Document{}, current: map[string]string{},
		parts: map[string]bool{}, adopted: map[string]bool{}}
	var err error
	if !f.looks { // the folder is this memory's
		err = f.Reader.Begin(ctx)
	}
	if err == nil {
		err = s.gather(ctx)
	}
	if err == nil {
		err = s.findLost(ctx)
	}
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
	add := func(file string) bool {
		at, ok := s.plan.spotOf(file)
		_, month := s.plan.month(at)
		if ok = ok && !month; ok && s.sources[file] == nil {
			s.sources[file] = &document{s.Folder, at}
		}
		return ok
	}
	for file := range s.records {
		add(file)
	}
	return s.tree.walk(func(file string) {
		if why := s.plan.whyNot(file); !add(file) && why != "" {
			s.add(file, Refused, why)
		}
	}, func(part string) { s.parts[ofPart(part)] = true }, func(link string) {
		if _, ok := s.plan.spotOf(link); !ok {
			return // no document either way
		}
		s.report.Notes = append(s.report.Notes, link+": a symbolic link is not followed, and was left as it is")
	})
}

// some finds the files that may have changed, and those of documents that have.
func (s *syncing) some(ctx context.Context, docs []*workspace.Document) error {
	s.partly = true
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

// findLost finds the files that were made of versions which memory does not hold.
func (s *syncing) findLost(ctx context.Context) error {
	var names []perdure.Hash
	for file, r := range s.records {
		if r.versions != s.current[file] {
			names = append(names, r.names()...)
		}
	}
	lost, err := s.Reader.Lost(ctx, names)
	if err != nil || len(lost) == 0 {
		return err
	}
	for _, r := range s.records {
		r.lost = slices.ContainsFunc(r.names(), func(name perdure.Hash) bool { return lost[name] })
	}
	s.report.Notes = append(s.report.Notes, fmt.Sprintf("memory does not hold %s that this folder was made of: its "+
		"store was put back to an earlier copy, or is another; nothing is taken out of the files, and what they say "+
		"is taken in", view.Several(int64(len(lost)), "version")))
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
		s.report.Changes = append(s.report.Changes, Change{File: d.Path, Status: Refused,
			Why: "a file of that name would be hidden, or is something else; it is in memory only", unseen: true})
	case s.sources[file] != nil: // two memories have it: which counts, reading says
		s.current[file] = ""
	default:
		s.sources[file], s.current[file], s.listing[file] = &document{s.Folder, at}, named(d), d
	}
}

func (s *syncing) add(file, status, why string) {
	s.report.Changes = append(s.report.Changes, Change{File: file, Status: status, Why: why})
}

// same counts a file that is in step with memory. Marks that are still in it need a person.
func (s *syncing) same(file, text string) {
	if s.report.Files++; hasMarks(text) {
		s.report.Changes = append(s.report.Changes, Change{File: file, Status: Conflict, Why: marksStay, stays: true})
	}
}

// all syncs every file, the pages last: they follow from the others.
func (s *syncing) all(ctx context.Context) error {
	if err := s.renames(ctx); err != nil {
		return err
	}
	if err := s.fresh(ctx); err != nil {
		return err
	}
	if err := s.adopt(ctx); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(s.sources))
	for _, pages := range []bool{false, true} {
		if pages {
			if err := s.follow(ctx); err != nil { // what was taken in may be the end of a session
				return err
			}
		}
		for _, file := range names {
			if isPage(file) != pages || s.adopted[file] {
				continue
			}
			if err := s.one(ctx, file); err != nil {
				return err
			}
		}
	}
	for _, at := range s.asides {
		file, ok := s.plan.fileOf(at)
		if !ok || isPage(file) {
			continue
		}
		counted, again := s.report.Files, s.sources[file] != nil
		s.sources[file] = &document{s.Folder, at}
		delete(s.current, file)
		if err := s.one(ctx, file); err != nil {
			return err
		}
		if again {
			s.report.Files = counted
		}
	}
	return nil
}

// follows reports whether a file is one that memory always has.
func follows(name string) bool { return name == progressName || name == errorsName }

// isPage reports whether a file is one that follows from others.
func isPage(name string) bool {
	return follows(name) || name == learnedName
}
