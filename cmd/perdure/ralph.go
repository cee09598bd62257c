package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/ralph"
)

// ralphOut is how a loop ended, with what happened.
type ralphOut struct {
	*ralph.Result
	Steps []ralph.Step `json:"steps"`
}

// ralphRole is whose memory a loop has that is not told.
const ralphRole = "ralph"

func ralphCommand() *cobra.Command {
	c := command("ralph", cobra.MinimumNArgs(1))
	m := newMemory(c)
	m.c.Flags().Lookup("role").Usage = "whose memory it is (default: $" + roleEnv + ", else " + ralphRole + ")"
	x := &home.Ralph{}
	fl := c.Flags()
	fl.StringVar(&x.File, "file", "", "the list of tasks (default: TASKS.md, prd.json or features.json)")
	fl.IntVar(&x.MaxIterations, "max-iterations", 0, "run the command at most N times; 0: as often as needed")
	fl.DurationVar(&x.MaxTime, "max-time", 0, "begin nothing after this long, such as 8h; 0: no bound")
	fl.IntVar(&x.MaxFailures, "max-failures", 3, "go on to the next task when one has failed N times; 0: never")
	fl.BoolVar(&x.Again, "again", false, "try tasks again that were given up, as if they had not failed")
	fl.DurationVar(&x.Process.Timeout, "timeout", 0, "end an attempt after this long; 0: no bound")
	fl.DurationVar(&x.Backoff, "backoff", 0, "wait this long when a limit names no time, then twice as long, up to "+
		"an hour (default: 1m)")
	fl.IntSliceVar(&x.LimitCodes, "limit-exit", nil, "exit codes by which the command says that it met a limit")
	fl.BoolVar(&x.ExitZero, "exit-zero", false, "exit code 0 means that the task is done, whatever was said")
	fl.StringVar(&x.Check, "look", "", "a shell command that checks whether a task was done, where the record does "+
		"not say: it exits with 0 if so, with 1 if not, otherwise if it cannot tell")
	fl.BoolVar(&x.Take, "take", false, "restart attempts that began on another machine, where nothing is running any "+
		"more")
	noCommit := fl.Bool("no-commit", false, "commit nothing to git")
	quiet := fl.BoolP("quiet", "q", false, "do not show what the command writes")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if c.ArgsLenAtDash() != 0 {
			return perdure.Invalid(fmt.Errorf("put the command behind --, as in perdure ralph -- claude -p"))
		}
		if x.File == "" {
			if x.File, err = home.FindList(); err != nil {
				return err
			}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		x.Process.Argv, x.Process.Guard, x.Process.Dir = args, []string{self, guardWord}, "."
		if x.Commits = !*noCommit; !*quiet {
			x.Process.Show = c.ErrOrStderr()
		}
		x.Note = func(text string) { note(c, "%s", text) }
		return runRalph(m, x)
	}
	return c
}

// runRalph runs a loop, and says what happens.
func runRalph(m *memoryFlags, x *home.Ralph) error {
	out := ralphOut{Steps: []ralph.Step{}}
	format, err := m.out.check()
	if err != nil {
		return err
	}
	x.Report = func(s ralph.Step) {
		if out.Steps = append(out.Steps, s); format == formatTable {
			_, _ = fmt.Fprintln(m.c.OutOrStdout(), s) // the work does not depend on it
		}
	}
	role := cmp.Or(*m.role, os.Getenv(roleEnv), ralphRole)
	return m.open(true, func(ctx context.Context, w *workspace.Workspace) error {
		res, err := m.h.RunRalph(ctx, w, role, x)
		if err != nil {
			return err
		}
		out.Result = res
		if err := m.out.say(&out, "%s\n", res); err != nil {
			return err
		}
		if res.Left > 0 {
			return &answered{fmt.Errorf("%s %w", x.File, home.ErrUnwell)}
		}
		return nil
	})
}
