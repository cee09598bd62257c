package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/self"
)

// The parts of a resume benchmark that are processes of their own.
const (
	roleBuild = "build" // gives an agent a history and goes on working until it is killed
	roleWork  = "work"  // goes on with the agent until it is killed
	roleStep  = "step"  // does one durable step and says when it was done
)

// ResumeRounds is how often each history is resumed; the median and the worst are reported.
const ResumeRounds = 5

// Kills are the settings of the resume workload: an agent with a history is killed at work, and resumed.
type Kills struct {
	History int // steps in the agent's past
	Payload int // bytes each step returns
}

// stepped is what a process that did one step says.
type stepped struct {
	Open time.Duration `json:"open"`
	Step time.Duration `json:"step"`
	Done int64         `json:"done"` // nanoseconds since 1970
}

// Part is one process of the workload; what it says goes to w.
func (k Kills) Part(ctx context.Context, p *Place, role, agent string, w io.Writer) error {
	var id perdure.AgentID
	var err error
	if role == roleBuild {
		id, err = k.build(ctx, p)
	} else {
		err = id.UnmarshalText([]byte(agent))
	}
	if err != nil {
		return err
	}
	if role == roleStep {
		r, err := Resume(ctx, p.Open, id, k.Payload)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(stepped{r.Open, r.Step, time.Now().UnixNano()})
	}
	if _, err := fmt.Fprintln(w, id); err != nil {
		return err
	}
	for { // until it is killed
		if _, err := Resume(ctx, p.Open, id, k.Payload); err != nil {
			return err
		}
	}
}

func (k Kills) build(ctx context.Context, p *Place) (perdure.AgentID, error) {
	s, err := p.Open(ctx)
	if err != nil {
		return perdure.AgentID{}, err
	}
	id, err := History(ctx, s, k.History, k.Payload, nil)
	return id, errors.Join(err, s.Close())
}

// Run kills and resumes, in processes of their own.
func (k Kills) Run(ctx context.Context, p *Place) (*Figures, error) {
	common := []string{"bench", "resume", "--store", p.Dir, "--history", strconv.Itoa(k.History),
		"--payload", strconv.Itoa(k.Payload), "--role"}
	var totals, opens, steps []time.Duration
	id, role := "", roleBuild
	for range ResumeRounds {
		args := slices.Concat(common, []string{role})
		if id != "" {
			args = append(args, "--agent", id)
		}
		line, err := killAfterLine(ctx, args...)
		if err != nil {
			return nil, err
		}
		id, role = strings.TrimSpace(line), roleWork
		began := time.Now()
		cmd := self.Command(ctx, slices.Concat(common, []string{roleStep, "--agent", id})...)
		out, err := cmd.Output()
		if err != nil {
			return nil, self.Error("resume", err)
		}
		var r stepped
		if err := json.Unmarshal(out, &r); err != nil {
			return nil, fmt.Errorf("resume: %w", err)
		}
		totals, opens, steps = append(totals, time.Unix(0, r.Done).Sub(began)), append(opens, r.Open),
			append(steps, r.Step)
	}
	total, open, step := median(totals), median(opens), median(steps)
	return &Figures{
		Workload: "resume", Unit: "resume", Settings: map[string]any{"history": k.History, "payload": k.Payload},
		Count: ResumeRounds,
		P50:   ms(total), P99: ms(slices.Max(totals)),
		Note: fmt.Sprintf("%.1f ms from exec to the next durable step: %.1f ms start of the process, %.1f ms open "+
			"the store, %.1f ms load the agent and do the step (medians of %d)",
			ms(total), ms(total-open-step), ms(open), ms(step), ResumeRounds),
	}, nil
}

// killAfterLine starts this program, waits for its first line, and kills it with SIGKILL.
func killAfterLine(ctx context.Context, args ...string) (string, error) {
	cmd := self.Command(ctx, args...)
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

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
