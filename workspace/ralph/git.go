package ralph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/internal/git"
)

// Repository is a folder that git keeps.
type Repository struct {
	Dir     string
	Exclude []string // what is never committed: the home
}

// git runs git, and returns what it prints.
func (g *Repository) git(ctx context.Context, args ...string) (string, error) {
	c := git.Command(ctx, g.Dir, nil, args...)
	var out, beside bytes.Buffer
	c.Stdout, c.Stderr = &out, &beside
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, oneLine(beside.String(), 200))
	}
	return strings.TrimSpace(out.String()), nil
}

// Is reports whether the folder is in the work tree of a repository.
func (g *Repository) Is(ctx context.Context) bool {
	out, err := g.git(ctx, "rev-parse", "--is-inside-work-tree")
	return err == nil && out == "true"
}

// Changed reports whether something is not committed.
func (g *Repository) Changed(ctx context.Context) (bool, error) {
	out, err := g.git(ctx, append([]string{"status", "--porcelain", "--"}, g.paths(ctx)...)...)
	return out != "", err
}

// paths are what is committed. What git leaves out by itself is not named: it would refuse to add anything.
func (g *Repository) paths(ctx context.Context) []string {
	all := []string{":/"}
	for _, p := range g.Exclude {
		rel, err := filepath.Rel(g.Dir, p)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		_, ignored := g.git(ctx, "check-ignore", "--quiet", "--", rel)
		if tracked, err := g.git(ctx, "ls-files", "--", rel); ignored == nil && err == nil && tracked == "" {
			continue
		}
		all = append(all, ":(exclude)"+filepath.ToSlash(rel))
	}
	return all
}

// Commit commits all changes of the work tree, and returns the short name of the commit; empty if there were none.
func (g *Repository) Commit(ctx context.Context, message string) (string, error) {
	if changed, err := g.Changed(ctx); err != nil || !changed {
		return "", err
	}
	if _, err := g.git(ctx, append([]string{"add", "-A", "--"}, g.paths(ctx)...)...); err != nil {
		return "", err
	}
	if _, err := g.git(ctx, "diff", "--cached", "--quiet"); err == nil {
		return "", nil
	} else if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		return "", err
	}
	if _, err := g.git(ctx, "commit", "-q", "-m", message); err != nil {
		return "", err
	}
	return g.git(ctx, "rev-parse", "--short", "HEAD")
}
