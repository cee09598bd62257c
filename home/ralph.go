package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/ralph"
	"github.com/perdure/perdure/workspace/tasks"
)

// ralphDir is the folder of a home where attempts leave their traces.
const ralphDir = "ralph"

// lists are the names of lists of tasks that are looked for.
var lists = []string{"TASKS.md", "prd.json", "features.json"}

// Ralph is a loop over a list of tasks, and what of this machine it uses.
type Ralph struct {
	ralph.Loop
	Process ralph.Process
	Check   string // a command of a shell that finds out whether a task was done: 0 says yes, 1 no, else it cannot tell
	Commits bool   // what was done is committed, where the folder is a repository
	Note    func(text string)
}

// FindList is the list of tasks in the current folder.
func FindList() (string, error) {
	for _, name := range lists {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
	}
	return "", perdure.WithHint(perdure.Missing("there is no TASKS.md, prd.json or features.json here"),
		"write a TASKS.md with lines such as - [ ] what to do, or name a list with --file")
}

// RunRalph runs a loop over the documents of a workspace of this home, as a role. Only one may run on a list at a time.
func (h *Home) RunRalph(ctx context.Context, w *workspace.Workspace, role string, x *Ralph) (*ralph.Result, error) {
	if h.Dir == "" {
		return nil, perdure.Invalid(errors.New("ralph needs a home, where attempts leave their traces"))
	}
	if err := errors.Join(x.bounded(), x.runnable()); err != nil {
		return nil, err
	}
	var err error
	if x.Reader, err = w.As(ctx, role); err != nil {
		return nil, err
	}
	if x.Name, err = ralph.NameOf(x.File); err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Join(h.Dir, ralphDir))
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, x.Name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // it holds nothing but the lock
	if err := disk.Lock(lock, false); err != nil {
		return nil, perdure.WithHint(busy("another loop works on "+x.File),
			"wait until it has ended, or end it")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	x.Place = host + " " + folder
	x.Process.Folder = filepath.Join(folder, "attempts")
	x.Process.Env = append(x.Process.Env, "PERDURE_ROLE="+role)
	x.Command = &x.Process
	if x.Check != "" {
		x.Look = x.lookBy
	}
	if err := x.committing(ctx, h.Dir); err != nil {
		return nil, err
	}
	return x.Run(ctx)
}

// busy is perdure.ErrConflict in its own words.
type busy string

func (b busy) Error() string        { return string(b) }
func (b busy) Is(target error) bool { return target == perdure.ErrConflict }

// bounded refuses bounds that no run keeps.
func (x *Ralph) bounded() error {
	for name, n := range map[string]int64{"max-iterations": int64(x.MaxIterations),
		"max-failures": int64(x.MaxFailures), "max-time": int64(x.MaxTime), "timeout": int64(x.Process.Timeout),
		"backoff": int64(x.Backoff)} {
		if n < 0 {
			return perdure.Invalid(fmt.Errorf("--%s is below zero; 0 is no bound", name))
		}
	}
	return nil
}

// runnable refuses a program that is not there: no attempt at any task can come of it, so none is counted.
func (x *Ralph) runnable() error {
	if len(x.Process.Argv) == 0 {
		return nil
	}
	name := x.Process.Argv[0]
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		name = filepath.Join(x.Process.Dir, name) // where it runs
		if !strings.ContainsRune(name, '/') {
			name = "./" + name
		}
	}
	if _, err := exec.LookPath(name); err != nil {
		return perdure.WithHint(perdure.Missing(fmt.Sprintf("cannot run %s: %v; no task was begun",
			view.Quoted(x.Process.Argv[0]), errors.Unwrap(err))), "name a program in $PATH, or the path of one")
	}
	return nil
}

// committing has what is done committed, if the folder is a repository.
func (x *Ralph) committing(ctx context.Context, home string) error {
	dir, err := filepath.Abs(x.Process.Dir)
	if err == nil {
		home, err = filepath.Abs(home)
	}
	repo := &ralph.Repository{Dir: dir, Exclude: []string{home}}
	if err != nil || !x.Commits || !repo.Is(ctx) {
		return err
	}
	if changed, err := repo.Changed(ctx); err == nil && changed && x.Note != nil {
		x.Note("there are changes here that are not committed: they will be in the first commit")
	}
	x.Commit = repo.Commit
	return nil
}

// lookBy asks the command of the owner whether a task was done.
func (x *Ralph) lookBy(ctx context.Context, t tasks.Task) (bool, error) {
	c := exec.CommandContext(ctx, "sh", "-c", x.Check)
	c.Dir = x.Process.Dir
	c.Env = append(os.Environ(), "PERDURE_TASK="+t.ID, "PERDURE_TASK_TITLE="+t.Title)
	c.Stdout, c.Stderr = io.Discard, io.Discard
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &exit), exit.ExitCode() < 0, exit.ExitCode() == 126, exit.ExitCode() == 127:
		return false, err // it did not run, or was killed: a mistake in the flag, which no attempt cures
	case exit.ExitCode() == 1:
		return false, nil
	}
	return false, fmt.Errorf("%w: it exited with %d", ralph.ErrUnsure, exit.ExitCode())
}
