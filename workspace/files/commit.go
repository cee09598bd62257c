package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure/view"
)

// commit commits the files of memory, if there is a reason to.
func (s *syncing) commit(ctx context.Context) error {
	if !s.Git {
		return nil
	}
	if f := s.repository(ctx); f == nil {
		if *s.noGit {
			s.report.Notes = append(s.report.Notes, "git is not installed: nothing was committed")
			return nil
		}
		if _, err := (&repository{dir: s.dir}).git(ctx, "init", "-q"); err != nil {
			return err
		}
	}
	deeds, err := s.deeds(ctx, "committed=0", maxDeeds)
	if err != nil {
		return err
	}
	if s.watched && len(deeds) == 0 && len(s.report.by(Taken, Conflict, Renamed, Deleted)) == 0 {
		return s.stands(ctx) // nothing happened that is worth it
	}
	if err := s.about(ctx); err != nil {
		return err
	}
	g := s.repository(ctx)
	if g == nil {
		return errors.New("git does not know the repository it made")
	}
	name, err := g.commit(ctx, s, func(gone []string) string { return message(s.report, deeds, gone) })
	if err != nil {
		return err
	}
	s.report.Commit = name
	if err := s.at("committed"); err != nil {
		return err
	}
	if err := s.stands(ctx); err != nil {
		return err
	}
	_, err = s.State.db.ExecContext(ctx, "UPDATE deed SET committed=1 WHERE folder=? AND committed=0", s.id)
	return err
}

// stands notes at which commit the folder was synced.
func (s *syncing) stands(ctx context.Context) error {
	if g := s.repository(ctx); g != nil {
		_, err := s.State.db.ExecContext(ctx, "UPDATE folder SET head=?1 WHERE id=?2 AND head<>?1", g.head(ctx), s.id)
		return err
	}
	return nil
}

// remembers reports whether memory has what git has by a name of a file.
func (s *syncing) remembers(file, mode, blob string) bool {
	if file == markerName || strings.HasPrefix(file, aboutDir+"/") {
		return true
	}
	r := s.records[file]
	if r == nil || r.base == nil || !strings.HasPrefix(mode, "100") { // no link, no repository in it
		return false
	}
	there, err := s.tree.read(file)
	return err == nil && there != nil && there.text == *r.base &&
		(blob == blobOf(there.raw, len(blob)) || // or git is told to change line ends
			blob == blobOf(bytes.ReplaceAll(there.raw, []byte("\r\n"), []byte("\n")), len(blob)))
}

// commit commits what changed in the folder, and returns the short name of the commit; empty: nothing did. The commit
// is made only if HEAD is still what it was. Message says what it holds, and is told which files it takes away.
func (g *repository) commit(ctx context.Context, s *syncing, message func(gone []string) string) (string, error) {
	if err := g.unfilter(ctx); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp("", "perdure-index-*")
	if err != nil {
		return "", err
	}
	index := temp.Name()
	defer func() { _ = os.Remove(index) }() // it holds nothing that is needed
	if err := errors.Join(temp.Close(), os.Remove(index)); err != nil {
		return "", err
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	head := g.head(ctx)
	from := []string{"read-tree", "--empty"}
	if head != "" {
		from = []string{"read-tree", head}
	}
	if _, err := g.run(ctx, "", env, from...); err != nil {
		return "", err
	}
	err = g.stage(ctx, env)
	if err == nil {
		err = g.sift(ctx, env, head, s)
	}
	if err != nil {
		return "", err
	}
	tree, err := g.run(ctx, "", env, "write-tree")
	if err != nil {
		return "", err
	}
	if had, err := g.git(ctx, "rev-parse", "-q", "--verify", head+"^{tree}"); head != "" && err == nil && had == tree {
		return "", nil
	}
	gone, err := g.gone(ctx, head, tree)
	if err != nil {
		return "", err
	}
	return g.write(ctx, tree, head, message(gone))
}

// gone are the files of memory that were at a commit, and are not in a tree.
func (g *repository) gone(ctx context.Context, head, tree string) (names []string, err error) {
	if head == "" {
		return nil, nil
	}
	out, err := g.git(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=D", "--relative",
		head, tree, "--", ".")
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" && !strings.HasPrefix(name, aboutDir+"/") {
			names = append(names, name)
		}
	}
	return names, err
}

// stage adds the files of a folder to an index, without those that are hidden.
func (g *repository) stage(ctx context.Context, env []string) error {
	specs := []string{".", ":(exclude,glob)**/.*", ":(exclude,glob)**/.*/**", ":(exclude,glob)**/*~",
		":(exclude,glob)**/#*#", ":(exclude,glob,icase)**/git~1*", ":(exclude,glob,icase)**/git~1*/**"}
	for _, ext := range []string{"swp", "swo", "swx", "tmp", "bak", "orig", "rej"} {
		specs = append(specs, ":(exclude,glob)**/*."+ext)
	}
	nested, err := g.nested()
	if err != nil {
		return err
	}
	for _, dir := range nested {
		specs = append(specs, ":(exclude,literal)"+dir)
	}
	add := func(specs ...string) error {
		_, err := g.run(ctx, strings.Join(specs, "\x00")+"\x00", env, "-c", "core.autocrlf=false", "add", "-A",
			"--pathspec-from-file=-", "--pathspec-file-nul")
		return err
	}
	if err := add(specs...); err != nil {
		return err
	}
	for _, name := range []string{markerName, aboutDir} {
		if _, err := os.Stat(filepath.Join(g.dir, name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := add(":(literal)" + name); err != nil {
			return err
		}
	}
	return nil
}

// nested are the repositories inside a folder. Git would look into them with their own settings, and run what those
// name.
func (g *repository) nested() (dirs []string, err error) {
	err = filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.EqualFold(d.Name(), ".git") {
			return err
		}
		dir, err := filepath.Rel(g.dir, filepath.Dir(path))
		if err == nil && dir != "." {
			dirs = append(dirs, filepath.ToSlash(dir))
		}
		if err == nil && d.IsDir() {
			err = fs.SkipDir
		}
		return err
	})
	return dirs, err
}

// sift leaves in an index the files that memory has, as it has them; the others are as at head, or not there. A file
// may have changed since it was synced, and hold by now what memory would refuse.
func (g *repository) sift(ctx context.Context, env []string, head string, s *syncing) error {
	prefix, err := g.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return err
	}
	out, err := g.run(ctx, "", env, "ls-files", "-s", "-z", "--", ".")
	if err != nil {
		return err
	}
	had, staged := map[string]blob{}, blobs(out)
	if head != "" {
		if out, err = g.git(ctx, "ls-tree", "-r", "-z", head, "--", "."); err != nil {
			return err
		}
		had = blobs(out)
	}
	var lines strings.Builder
	put := func(name string, b blob) { fmt.Fprintf(&lines, "%s %s\t%s\x00", b.mode, b.name, prefix+name) }
	for name, b := range staged {
		was, ok := had[name]
		switch {
		case was == b || s.remembers(name, b.mode, b.name):
		case ok:
			put(name, was)
		default:
			put(name, blob{"0", strings.Repeat("0", len(b.name))})
		}
	}
	for name, was := range had {
		if _, ok := staged[name]; !ok && s.records[name] == nil && s.plan.foreign(name) {
			put(name, was)
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	_, err = g.run(ctx, lines.String(), env, "update-index", "-z", "--index-info")
	return err
}

// write makes a commit of a tree.
func (g *repository) write(ctx context.Context, tree, head, message string) (string, error) {
	var env []string
	if _, err := g.git(ctx, "var", "GIT_COMMITTER_IDENT"); err != nil {
		for _, who := range []string{"AUTHOR", "COMMITTER"} {
			env = append(env, "GIT_"+who+"_NAME="+g.name, "GIT_"+who+"_EMAIL="+g.name+"@localhost")
		}
	}
	args := []string{"commit-tree", tree}
	if head != "" {
		args = append(args, "-p", head)
	}
	made, err := g.run(ctx, message, env, args...)
	if err != nil {
		return "", err
	}
	old := head
	if old == "" {
		old = strings.Repeat("0", len(made))
	}
	subject, _, _ := strings.Cut(message, "\n")
	if _, err := g.run(ctx, "", env, "update-ref", "-m", "perdure files: "+subject, "HEAD", made, old); err != nil {
		return "", err
	}
	if _, err := g.git(ctx, "reset", "-q", "--", "."); err != nil { // the index that people see has it, too
		return "", err
	}
	return g.git(ctx, "rev-parse", "--short", made)
}

// maxTold is how many lines of each sort a message has.
const maxTold = 20

// by are the files that ended in one of some states.
func (r *Report) by(states ...string) (files []string) {
	for _, c := range r.Changes {
		if slices.Contains(states, c.Status) {
			files = append(files, c.File)
		}
	}
	return files
}

// message says what a commit holds: what happened, by whom, and nothing that nobody did. Gone are the files that it
// takes away.
func message(r *Report, deeds []deed, gone []string) string {
	count := map[string]int{}
	for _, d := range deeds {
		count[d.kind]++
	}
	var parts []string
	add := func(n int, one string) {
		if n > 0 {
			parts = append(parts, view.Several(int64(n), one))
		}
	}
	for _, x := range []struct{ kind, one string }{{deedSession, "session"}, {deedTask, "task"},
		{deedOutcome, "outcome"}, {deedVote, "vote"}} {
		add(count[x.kind], x.one)
	}
	var renamed []string
	for _, c := range r.Changes {
		if c.from != "" {
			renamed = append(renamed, c.File+", from "+c.from)
			gone = slices.DeleteFunc(gone, func(name string) bool { return name == c.from })
		}
	}
	edited, deleted := r.by(Taken, Conflict), r.by(Deleted)
	gone = slices.DeleteFunc(gone, func(name string) bool { return slices.Contains(deleted, name) })
	add(len(edited), "edited file")
	add(len(renamed), "renamed file")
	add(len(deleted)+len(gone), "removed file")
	if len(parts) == 0 {
		parts = []string{"what memory says"}
	}
	told := make([]string, len(deeds))
	for i, d := range deeds {
		told[i] = fmt.Sprintf("%s %s %s: %s (entry %s)", stampOf(d.at), d.kind, d.told, d.what, d.entry.Short())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Role, strings.Join(parts, ", "))
	list(&b, "", "", told)
	list(&b, "Edited by a person, and taken into memory:\n", "- ", edited)
	list(&b, "Renamed by a person:\n", "- ", renamed)
	list(&b, "Removed by a person, and from memory:\n", "- ", deleted)
	list(&b, "Not in memory any more:\n", "- ", gone)
	b.WriteString("\nCommitted by perdure files.\n")
	return b.String()
}

// list adds lines to a message, as many as are told.
func list(b *strings.Builder, head, mark string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n" + head)
	for i, line := range lines {
		if i == maxTold {
			fmt.Fprintf(b, "and %d more\n", len(lines)-maxTold)
			break
		}
		b.WriteString(mark + line + "\n")
	}
}
