package files

import (
	"bytes"
	"context"
	"crypto/sha1" // as git names things
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// repository is the git repository that a folder is in. Commits are made beside the index that people use, so that what
// they have staged stays theirs, and of nothing but the files of memory.
type repository struct {
	dir   string
	name  string   // who commits, if git does not know
	plain []string // settings that turn its filters off
}

// ErrMoved says that git put a folder back to another state than the one that was synced last.
var ErrMoved = errors.New("git moved the folder")

// runsNothing are settings with which git runs no program that a repository names. Whoever can write to a folder is not
// who uses git there: an agent that may write files would run programs.
var runsNothing = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
	"-c", "safe.bareRepository=explicit"}

// unfilter turns the filters off that a repository itself has.
func (g *repository) unfilter(ctx context.Context) error {
	out, err := g.git(ctx, "config", "--includes", "--show-scope", "--name-only", "-z", "--list")
	if err != nil {
		return err
	}
	words := strings.Split(out, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		scope, name := words[i], words[i+1]
		if !strings.HasPrefix(name, "filter.") || scope == "system" || scope == "global" || scope == "command" {
			continue
		}
		if strings.Contains(name, "=") {
			return fmt.Errorf("the filter %q of this repository cannot be turned off: rename it", name)
		}
		value := "" // no command
		if strings.HasSuffix(name, ".required") {
			value = "false"
		}
		g.plain = append(g.plain, "-c", name+"="+value)
	}
	return nil
}

// run runs git in the folder, and returns what it prints.
func (g *repository) run(ctx context.Context, in string, env []string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", slices.Concat(runsNothing, g.plain, args)...)
	c.Dir, c.Stdin = g.dir, strings.NewReader(in)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool {
		for _, name := range []string{"DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "OBJECT_DIRECTORY"} {
			if strings.HasPrefix(s, "GIT_"+name+"=") {
				return true // of a git that runs us
			}
		}
		return false
	}), env...)
	var out, beside bytes.Buffer
	c.Stdout, c.Stderr = &out, &beside
	if err := c.Run(); err != nil {
		for len(args) > 2 && args[0] == "-c" {
			args = args[2:]
		}
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, view.OneLine(beside.String(), maxLine))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

func (g *repository) git(ctx context.Context, args ...string) (string, error) {
	return g.run(ctx, "", nil, args...)
}

// is reports whether the folder is in a work tree.
func (g *repository) is(ctx context.Context) bool {
	out, err := g.git(ctx, "rev-parse", "--is-inside-work-tree")
	return err == nil && out == "true"
}

// head is the commit that the folder is at; empty: there is none yet.
func (g *repository) head(ctx context.Context) string {
	out, err := g.git(ctx, "rev-parse", "--verify", "-q", "HEAD^{commit}")
	if err != nil {
		return ""
	}
	return out
}

// busy says what git is in the middle of; empty: nothing.
func (g *repository) busy(ctx context.Context) string {
	for _, name := range []string{"MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD",
		"BISECT_LOG"} {
		path, err := g.git(ctx, "rev-parse", "--git-path", name)
		if err != nil {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.dir, path)
		}
		if _, err := os.Stat(path); err == nil {
			return strings.ToLower(strings.TrimSuffix(strings.ReplaceAll(name, "_", "-"), "-HEAD"))
		}
	}
	return ""
}

// repository is that of the folder; nil: it has none, or there is no git.
func (f *Folder) repository(ctx context.Context) *repository {
	if f.noGit == nil {
		_, err := exec.LookPath("git")
		missing := err != nil
		f.noGit = &missing
	}
	g := &repository{dir: f.dir, name: f.person().Node.Key.Name}
	if *f.noGit || !g.is(ctx) {
		return nil
	}
	return g
}

// settledGit refuses a folder that git is working on, or that it put back to an earlier state: what is in its files
// then is not what people want to be in memory.
func (s *syncing) settledGit(ctx context.Context) error {
	var was string
	if err := s.State.db.QueryRowContext(ctx, "SELECT head FROM folder WHERE id=?", s.id).Scan(&was); err != nil {
		return err
	}
	if was == "" && !s.Git {
		return nil
	}
	g := s.repository(ctx)
	if g == nil {
		return nil
	}
	if what := g.busy(ctx); what != "" {
		return perdure.WithHint(fmt.Errorf("%w: a %s is not finished there", ErrMoved, what), "finish it, then sync")
	}
	if _, err := g.git(ctx, "symbolic-ref", "-q", "HEAD"); err != nil && !s.Revert {
		return perdure.WithHint(fmt.Errorf("%w: its HEAD is detached, so it may be at any commit", ErrMoved),
			"git switch to a branch, or sync with --revert to have memory say what the files say")
	}
	now := g.head(ctx)
	if was == "" || s.Revert {
		return nil
	}
	s.blobs = g.blobs(ctx, was)
	if now == was {
		return nil
	}
	if _, err := g.git(ctx, "merge-base", "--is-ancestor", was, now); err == nil {
		return nil // commits were added: what they changed is what people changed
	}
	changed, err := g.git(ctx, "diff", "--name-only", "-z", "--relative", was, now, "--", ".")
	if err != nil {
		return nil // the commit of then is gone, and with it what could be compared
	}
	for _, name := range strings.Split(changed, "\x00") {
		r := s.records[name]
		if r == nil || r.base == nil {
			continue
		}
		there, err := s.tree.read(name)
		if err != nil || there == nil || there.text != *r.base {
			return perdure.WithHint(fmt.Errorf("%w: %s is not as it was synced at commit %.8s, and HEAD does not "+
				"follow from that", ErrMoved, name, was),
				"go back with git, or sync with --revert to have memory say what the files say")
		}
	}
	return nil
}

// blobs are the names that git has for what files held at a commit.
func (g *repository) blobs(ctx context.Context, commit string) map[string]string {
	out, err := g.git(ctx, "ls-tree", "-r", "-z", commit, "--", ".")
	if err != nil {
		return nil // the commit is gone
	}
	all := map[string]string{}
	for line := range strings.SplitSeq(out, "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[1] == "blob" {
			all[name] = f[2]
		}
	}
	return all
}

// restored reports whether a file is as it was at the commit that was synced last, though memory has gone on since and
// the file with it: git put it back, not a person.
func (s *syncing) restored(file string, there *content) bool {
	blob := s.blobs[file]
	if blob == "" {
		return false
	}
	h := sha1.New()
	if len(blob) == 2*sha256.Size {
		h = sha256.New()
	}
	_, _ = fmt.Fprintf(h, "blob %d\x00%s", len(there.raw), there.raw) // a hash takes everything
	return hex.EncodeToString(h.Sum(nil)) == blob
}

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
	took := slices.ContainsFunc(s.report.Changes,
		func(c Change) bool { return c.Status == Taken || c.Status == Conflict })
	if s.watched && len(deeds) == 0 && !took {
		return s.stands(ctx) // nothing happened that is worth it
	}
	if err := s.about(ctx); err != nil {
		return err
	}
	g := s.repository(ctx)
	if g == nil {
		return errors.New("git does not know the repository it made")
	}
	name, err := g.commit(ctx, s.refusals(), message(s.report, deeds))
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

// refusals are the files that must not be committed: memory refused them.
func (s *syncing) refusals() (names []string) {
	for _, c := range s.report.Changes {
		if c.Status == Refused || c.Status == Waits {
			names = append(names, c.File)
		}
	}
	return names
}

// commit commits what changed in the folder, and returns the short name of the commit; empty: nothing did. The commit
// is made only if HEAD is still what it was.
func (g *repository) commit(ctx context.Context, without []string, message string) (string, error) {
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
	if err := g.stage(ctx, env, without); err != nil {
		return "", err
	}
	tree, err := g.run(ctx, "", env, "write-tree")
	if err != nil {
		return "", err
	}
	if had, err := g.git(ctx, "rev-parse", "-q", "--verify", head+"^{tree}"); head != "" && err == nil && had == tree {
		return "", nil
	}
	return g.write(ctx, tree, head, message)
}

// stage adds the files of memory to an index, and nothing else.
func (g *repository) stage(ctx context.Context, env, without []string) error {
	specs := []string{".", ":(exclude,glob)**/.*", ":(exclude,glob)**/.*/**", ":(exclude,glob)**/*~"}
	for _, ext := range []string{"swp", "swo", "swx", "tmp", "bak", "orig", "rej"} {
		specs = append(specs, ":(exclude,glob)**/*."+ext)
	}
	for _, name := range without {
		specs = append(specs, ":(exclude,literal)"+name)
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

// message says what a commit holds: what happened, by whom, and nothing that nobody did.
func message(r *Report, deeds []deed) string {
	count := map[string]int{}
	for _, d := range deeds {
		count[d.kind]++
	}
	var parts []string
	for _, x := range []struct{ kind, one string }{{deedSession, "session"}, {deedTask, "task"},
		{deedOutcome, "outcome"}, {deedVote, "vote"}} {
		if n := count[x.kind]; n > 0 {
			parts = append(parts, view.Several(int64(n), x.one))
		}
	}
	edits := 0
	for _, c := range r.Changes {
		if c.Status == Taken || c.Status == Conflict {
			edits++
		}
	}
	if edits > 0 {
		parts = append(parts, view.Several(int64(edits), "edited file"))
	}
	if len(parts) == 0 {
		parts = []string{"what memory says"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Role, strings.Join(parts, ", "))
	if len(deeds) > 0 {
		b.WriteString("\n")
	}
	for i, d := range deeds {
		if i == maxTold {
			fmt.Fprintf(&b, "and %d more\n", len(deeds)-maxTold)
			break
		}
		fmt.Fprintf(&b, "%s %s %s: %s (entry %s)\n", stampOf(d.at), d.kind, d.told, d.what, d.entry.Short())
	}
	if edits > 0 {
		b.WriteString("\nEdited by a person, and taken into memory:\n")
	}
	n := 0
	for _, c := range r.Changes {
		if c.Status != Taken && c.Status != Conflict {
			continue
		}
		if n++; n > maxTold {
			fmt.Fprintf(&b, "and %d more\n", edits-maxTold)
			break
		}
		fmt.Fprintf(&b, "- %s\n", c.File)
	}
	b.WriteString("\nCommitted by perdure files.\n")
	return b.String()
}
