package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/git"
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

// commit commits what changed in the folder, and returns the short name of the commit; empty: nothing did. The commit
// is made only if HEAD is still what it was. Message says what it holds, and is told which files it takes away.
func (g *repository) commit(ctx context.Context, s *syncing, message func(gone []string) string) (string, error) {
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
	changed, err := g.stage(ctx, head, s)
	if err != nil || changed == "" {
		return "", err
	}
	if err := g.index(ctx, env, changed); err != nil {
		return "", err
	}
	tree, err := g.run(ctx, "", env, "write-tree")
	if err != nil {
		return "", err
	}
	gone, err := g.gone(ctx, head, tree)
	if err != nil {
		return "", err
	}
	return g.write(ctx, tree, head, message(gone), func() error { return g.index(ctx, nil, changed) })
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

// stage is how an index at head comes to hold the files that memory has, as it has them, and none that it has no more;
// empty: it does. Git is given their texts. It looks at no file itself: it would run what the attributes of the file
// name, and the settings of repositories inside the folder.
func (g *repository) stage(ctx context.Context, head string, s *syncing) (string, error) {
	prefix, err := g.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return "", err
	}
	none, err := g.git(ctx, "hash-object", "--stdin")
	if err != nil {
		return "", err
	}
	had := map[string]blob{}
	if head != "" {
		out, err := g.git(ctx, "ls-tree", "-r", "-z", head, "--", ".")
		if err != nil {
			return "", err
		}
		had = blobs(out)
	}
	kept, err := g.kept(ctx, s, had)
	if err != nil {
		return "", err
	}
	var lines, texts strings.Builder
	put := func(name string, b blob) { fmt.Fprintf(&lines, "%s %s\t%s\x00", b.mode, b.name, prefix+name) }
	for _, name := range kept {
		there, err := s.tree.read(name)
		if err != nil || there == nil || !s.remembers(name, there) {
			continue // it changed since it was synced, and may hold by now what memory would refuse
		}
		was, is := had[name], blobOf(there.raw, len(none))
		if was.name == is || was.name == blobOf(bytes.ReplaceAll(there.raw, []byte("\r\n"), []byte("\n")), len(none)) {
			continue
		}
		mode := "100644"
		if strings.HasPrefix(was.mode, "100") {
			mode = was.mode
		}
		put(name, blob{mode, is})
		fmt.Fprintf(&texts, "blob\ndata %d\n%s\n", len(there.raw), there.raw)
	}
	for name, was := range had {
		ours := strings.HasPrefix(was.mode, "100") && (s.records[name] != nil || !s.plan.foreign(name))
		if ours && s.tree.lacks(name) {
			put(name, blob{"0", strings.Repeat("0", len(none))})
		}
	}
	if texts.Len() > 0 {
		if _, err := g.run(ctx, texts.String(), nil, "fast-import", "--quiet"); err != nil {
			return "", err
		}
	}
	return lines.String(), nil
}

// kept are the files of memory that git is to have: those that it has, and those that nobody told it to ignore. What is
// in a repository inside the folder is not the outer one's.
func (g *repository) kept(ctx context.Context, s *syncing, had map[string]blob) (names []string, err error) {
	var fresh []string
	add := func(name string) {
		if _, ok := had[name]; ok {
			names = append(names, name)
		} else if !g.nested(name) {
			fresh = append(fresh, name)
		}
	}
	for name, r := range s.records {
		if r.base != nil && !hidden(name) {
			add(name)
		}
	}
	add(markerName)
	abouts, err := s.tree.abouts()
	for _, name := range abouts {
		add(name)
	}
	if err != nil || len(fresh) == 0 {
		return names, err
	}
	out, err := g.run(ctx, "./"+strings.Join(fresh, "\x00./")+"\x00", nil, "check-ignore", "-z", "--stdin",
		"--no-index")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // none
		out, err = "", nil
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(out, "\x00") {
		ignored[name] = true
	}
	return append(names, slices.DeleteFunc(fresh, func(name string) bool { return ignored["./"+name] })...), err
}

// nested reports whether a file is in a repository inside the folder.
func (g *repository) nested(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(dir), ".git")); err == nil {
			return true
		}
	}
	return false
}

// remembers reports whether memory has what is in a file.
func (s *syncing) remembers(file string, there *content) bool {
	if file == markerName || strings.HasPrefix(file, aboutDir+"/") {
		return true
	}
	return there.text == *s.records[file].base
}

// index changes an index, where git sees none of the files in it: of those that were written in the same moment as the
// index it would find out whether they differ, by filters that the repository names.
func (g *repository) index(ctx context.Context, env []string, lines string) error {
	of, err := g.git(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	empty, err := os.MkdirTemp("", "perdure-index-")
	if err != nil {
		return err
	}
	apart := &repository{dir: empty, name: g.name}
	_, err = apart.run(ctx, lines, append([]string{"GIT_DIR=" + of, "GIT_WORK_TREE=" + empty}, env...),
		"update-index", "-z", "--index-info")
	return errors.Join(err, os.Remove(empty))
}

// write makes a commit of a tree, and moves HEAD to it. Show puts it into the index that people see.
func (g *repository) write(ctx context.Context, tree, head, message string, show func() error) (string, error) {
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
	if err := g.move(ctx, env, "perdure files: "+subject, made, old, show); err != nil {
		return "", err
	}
	return g.git(ctx, "rev-parse", "--short", made)
}

// move moves HEAD from one commit to another. Before it does, and while git keeps everybody else from moving it, it
// calls show. An index that is behind HEAD, because this process was killed, would have the next commit of a person
// take documents back; one that is ahead does no harm.
func (g *repository) move(ctx context.Context, env []string, why, to, from string, show func() error) error {
	whole := context.WithoutCancel(ctx) // killed, it leaves locks
	c := git.Command(whole, g.dir, env, "update-ref", "-m", why, "--stdin")
	var beside bytes.Buffer
	c.Stderr = &beside
	steps, err := c.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return errors.Join(err, steps.Close())
	}
	_, err = fmt.Fprintf(steps, "start\nupdate HEAD %s %s\nprepare\n", to, from)
	ready := false
	for lines := bufio.NewScanner(answers); !ready && lines.Scan(); {
		ready = lines.Text() == "prepare: ok"
	}
	if ready && err == nil {
		if err = show(); err == nil {
			_, err = io.WriteString(steps, "commit\n") // without that, nothing is moved
		}
	}
	_ = steps.Close() // if it has ended, it says why
	if failed := c.Wait(); failed != nil {
		return fmt.Errorf("git update-ref: %w: %s", failed, view.OneLine(beside.String(), maxLine))
	}
	return err
}

// maxTold is how many lines of each sort a message has.
const maxTold = 20

// by are the files that came into one of some states.
func (r *Report) by(states ...string) (files []string) {
	for _, c := range r.Changes {
		if slices.Contains(states, c.Status) && !c.stays {
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
