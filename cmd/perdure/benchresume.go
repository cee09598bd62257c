package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
)

// The parts of a resume benchmark that are processes of their own.
const (
	roleBuild = "build" // gives an agent a history and goes on working until it is killed
	roleWork  = "work"  // goes on with the agent until it is killed
	roleStep  = "step"  // does one durable step and says when it was done
)

// resumeRounds is how often each history is resumed; the median and the worst are reported.
const resumeRounds = 5

func benchResumeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resume [flags]",
		Short: "Measure going on after kill -9",
		Long: `Resume starts a process that gives an agent a history and goes on working, kills it with SIGKILL in the middle, and starts a new process:
how long from exec until the next step is durable, and how much of that went into opening the store and into loading the agent and
doing the step. Each history is resumed ` + strconv.Itoa(resumeRounds) + ` times, each time after another kill.`,
		Example: `  perdure bench resume
  perdure bench resume --history 100,5000,100000 --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
	p := benchFlags(c)
	histories := c.Flags().IntSlice("history", []int{100, 1000, 5000}, "steps in the agent's past; each number is one line")
	payload := c.Flags().Int("payload", 1024, "bytes each step returns")
	role := c.Flags().String("role", "", "which process this is")
	agent := c.Flags().String("agent", "", "the agent to go on with")
	for _, hidden := range []string{"role", "agent"} {
		if err := c.Flags().MarkHidden(hidden); err != nil {
			panic(err) // the flag was added above
		}
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, n := range *histories {
			if err := atLeastOne(c, "history", n); err != nil {
				return err
			}
		}
		switch {
		case len(*histories) == 0:
			return misuse(c, errors.New("--history: name at least one number"))
		case p.inMemory():
			return misuse(c, errors.New("a store in memory dies with its process; name a folder with --store"))
		}
		if err := payloadFits(c, *payload); err != nil {
			return err
		}
		if *role != "" {
			p.dir = *p.folder
			return resumePart(c, p, *role, *agent, (*histories)[0], *payload)
		}
		var figures []*bench.Figures
		for _, n := range *histories {
			err := p.with(func() error {
				f, err := measureResume(c, p, n, *payload)
				if err == nil {
					p.label(f)
					figures = append(figures, f)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		if jsonFlag(c) {
			return printJSON(c.OutOrStdout(), figures)
		}
		return writeFigures(c.OutOrStdout(), figures)
	}
	return c
}

// stepped is what a process that did one step says.
type stepped struct {
	Open time.Duration `json:"open"`
	Step time.Duration `json:"step"`
	Done int64         `json:"done"` // nanoseconds since 1970
}

// resumePart is one process of the benchmark.
func resumePart(c *cobra.Command, p *benchPlace, role, agent string, history, payload int) error {
	ctx := c.Context()
	var id perdure.AgentID
	var err error
	if role == roleBuild {
		id, err = buildHistory(ctx, p, history, payload)
	} else {
		err = id.UnmarshalText([]byte(agent))
	}
	if err != nil {
		return err
	}
	if role == roleStep {
		r, err := bench.Resume(ctx, p.open, id, payload)
		if err != nil {
			return err
		}
		return printJSON(c.OutOrStdout(), stepped{r.Open, r.Step, time.Now().UnixNano()})
	}
	if _, err := fmt.Fprintln(c.OutOrStdout(), id); err != nil {
		return err
	}
	for { // until it is killed
		if _, err := bench.Resume(ctx, p.open, id, payload); err != nil {
			return err
		}
	}
}

func buildHistory(ctx context.Context, p *benchPlace, history, payload int) (perdure.AgentID, error) {
	s, err := p.open(ctx)
	if err != nil {
		return perdure.AgentID{}, err
	}
	id, err := bench.History(ctx, s, history, payload, nil)
	return id, errors.Join(err, s.Close())
}

// measureResume kills and resumes.
func measureResume(c *cobra.Command, p *benchPlace, history, payload int) (*bench.Figures, error) {
	common := []string{"bench", "resume", "--store", p.dir, "--history", strconv.Itoa(history), "--payload", strconv.Itoa(payload), "--role"}
	var totals, opens, steps []time.Duration
	id, role := "", roleBuild
	for range resumeRounds {
		args := slices.Concat(common, []string{role})
		if id != "" {
			args = append(args, "--agent", id)
		}
		line, err := killAfterLine(c.Context(), args...)
		if err != nil {
			return nil, err
		}
		id, role = strings.TrimSpace(line), roleWork
		began := time.Now()
		cmd := self(c.Context(), slices.Concat(common, []string{roleStep, "--agent", id})...)
		out, err := cmd.Output()
		if err != nil {
			return nil, childError("resume", err)
		}
		var r stepped
		if err := json.Unmarshal(out, &r); err != nil {
			return nil, fmt.Errorf("resume: %w", err)
		}
		totals, opens, steps = append(totals, time.Unix(0, r.Done).Sub(began)), append(opens, r.Open), append(steps, r.Step)
	}
	total, open, step := median(totals), median(opens), median(steps)
	return &bench.Figures{
		Workload: "resume", Unit: "resume", Settings: map[string]any{"history": history, "payload": payload}, Count: resumeRounds,
		P50: millis(total), P99: millis(slices.Max(totals)),
		Note: fmt.Sprintf("%.1f ms from exec to the next durable step: %.1f ms start of the process, %.1f ms open the store, %.1f ms load the agent and do the step (medians of %d)",
			millis(total), millis(total-open-step), millis(open), millis(step), resumeRounds),
	}, nil
}

// self is this program with other arguments.
func self(ctx context.Context, args ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Args[0] = os.Args[0]
	return cmd
}

// killAfterLine starts this program, waits for its first line, and kills it with SIGKILL.
func killAfterLine(ctx context.Context, args ...string) (string, error) {
	cmd := self(ctx, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if killErr := cmd.Process.Kill(); err == nil && killErr != nil {
		err = killErr
	}
	_ = cmd.Wait() // it was killed: that is its error
	if err == io.EOF {
		err = fmt.Errorf("a child process ended by itself: %s", strings.TrimSpace(stderr.String()))
	}
	return line, errors.Join(err, ctx.Err())
}

// childError is the error of a child process with what it said.
func childError(what string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s: %w: %s", what, err, strings.TrimSpace(string(exit.Stderr)))
	}
	return fmt.Errorf("%s: %w", what, err)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
