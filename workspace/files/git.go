package files

import (
	"bytes"
	"context"
	"crypto/sha1" // as git names things
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/git"
	"github.com/perdure/perdure/view"
)

// repository is the git repository that a folder is in. Commits are made beside the index that people use, so that what
// they have staged stays theirs, and of nothing but the files of memory.
type repository struct {
	dir  string
	name string // who commits, if git does not know
}

// ErrMoved says that git put a folder back to another state than the one that was synced last.
var ErrMoved = errors.New("git moved the folder")

// run runs git in the folder, and returns what it prints.
func (g *repository) run(ctx context.Context, in string, env []string, args ...string) (string, error) {
	c := git.Command(ctx, g.dir, env, args...)
	c.Stdin = strings.NewReader(in)
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
	if out, err := g.git(ctx, "ls-tree", "-r", "-z", was, "--", "."); err == nil { // else the commit is gone
		s.blobs = blobs(out)
	}
	if now == was {
		return nil
	}
	if _, err := g.git(ctx, "merge-base", "--is-ancestor", was, now); err == nil {
		return nil // commits were added: what they changed is what people changed
	}
	if g.rewrote(ctx, was, now) {
		return nil // as by git pull --rebase
	}
	changed, err := g.git(ctx, "diff-tree", "-r", "--name-only", "-z", "--relative", was, now, "--", ".")
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

// rewrote reports whether a history has the commits of another under new names, as after a rebase or an amend, which
// keep who wrote each and when. One that was dropped is not there: what it changed was taken back.
func (g *repository) rewrote(ctx context.Context, was, now string) bool {
	authors := func(of, besides string) map[string]int {
		// not log, which may run a program that the repository names to look at signatures
		out, err := g.git(ctx, "rev-list", "--no-merges", "--format=%an%x00%ae%x00%at", of, "^"+besides)
		if err != nil {
			return nil
		}
		all := map[string]int{}
		for i, line := range strings.Split(out, "\n") {
			if i%2 == 1 { // behind the name of the commit
				all[line]++
			}
		}
		return all
	}
	old, all := authors(was, now), authors(now, was)
	for who, n := range old {
		if all[who] < n {
			return false
		}
	}
	return len(old) > 0
}

// blob is what git has of a file.
type blob struct{ mode, name string }

// blobs reads what ls-tree and ls-files print.
func blobs(out string) map[string]blob {
	all := map[string]blob{}
	for line := range strings.SplitSeq(out, "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(about)
		switch {
		case len(f) != 3:
		case f[1] == "blob" || f[1] == "commit": // of a tree
			all[name] = blob{f[0], f[2]}
		default: // of an index
			all[name] = blob{f[0], f[1]}
		}
	}
	return all
}

// blobOf is the name that git has for a text, of so many digits.
func blobOf(raw []byte, digits int) string {
	h := sha1.New()
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	_, _ = fmt.Fprintf(h, "blob %d\x00%s", len(raw), raw) // a hash takes everything
	return hex.EncodeToString(h.Sum(nil))
}

// rebase finds out whether a person changed a text that git had put back to what it was at the commit that was synced
// last: then that is what they have seen.
func (s *syncing) rebase(ctx context.Context, file string, r *record, there *content) {
	b, ok := s.blobs[file]
	if !ok || blobOf([]byte(*r.base), len(b.name)) == b.name { // the usual
		return
	}
	g := s.repository(ctx)
	if g == nil {
		return
	}
	raw, err := g.git(ctx, "cat-file", "blob", b.name)
	if err != nil {
		return // git has it no more
	}
	if raw != "" {
		raw += "\n" // which is cut off
	}
	if was := normal(raw); !nearer(there.text, *r.base, was) {
		r.base, r.versions = &was, unsettled+r.versions
	}
}

// restored reports whether a file is as it was at the commit that was synced last, though memory has gone on since and
// the file with it: git put it back, not a person.
func (s *syncing) restored(file string, there *content) bool {
	b, ok := s.blobs[file]
	return ok && blobOf(there.raw, len(b.name)) == b.name
}
