//go:build unix

package torture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// killsShort and killsUsual are how many kills a run makes when PERDURE_TORTURE_KILLS does not say.
	killsShort, killsUsual = 40, 300
	// killsPerStore is after how many kills the agents of a store are let to their end, and everything is held against the ledgers.
	killsPerStore = 100
	// startLimit is how long a child may take to open the store, and finishLimit how long the agents may take to end without kills.
	startLimit, finishLimit = 30 * time.Second, time.Minute
)

// process is a running child.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	opened chan error // nil when it has opened the store
	stderr bytes.Buffer
}

// start starts a child.
func (c child) start() (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	task, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(exe), opened: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(task))
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		p.opened <- err
	}()
	return p, nil
}

// kill kills the child and returns what it complained of.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.wait()
}

// wait waits for the end of the child and returns what it complained of. That it was killed is none.
func (p *process) wait() error {
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == -1 {
		err = nil
	}
	if said := strings.TrimSpace(p.stderr.String()); said != "" {
		return fmt.Errorf("child said: %s (%v)", said, err)
	}
	return err
}

// finish lets the agents come to their end.
func (c child) finish() error {
	c.Finish = true
	p, err := c.start()
	if err != nil {
		return err
	}
	timer := time.AfterFunc(finishLimit, func() { p.cmd.Process.Kill() })
	err = p.wait()
	if !timer.Stop() {
		return errors.Join(fmt.Errorf("agents had not ended after %v", finishLimit), err)
	}
	return err
}

// newChild is a child with a folder of its own.
func newChild(t *testing.T, name string) child {
	t.Helper()
	c := child{Dir: t.TempDir(), Name: name, Agents: 4}
	if err := os.Mkdir(filepath.Join(c.Dir, "world"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

// life starts a child, lets it live for a random moment, and kills it: one in five while it is still opening the store.
func (c child) life(rng *rand.Rand) error {
	p, err := c.start()
	if err != nil {
		return err
	}
	if rng.IntN(5) == 0 {
		<-time.After(time.Duration(rng.Int64N(int64(40 * time.Millisecond))))
		return p.kill()
	}
	select {
	case err = <-p.opened:
	case <-time.After(startLimit):
		err = fmt.Errorf("the store was not open after %v", startLimit)
	}
	if err == nil {
		<-time.After(time.Duration(rng.Int64N(int64(60 * time.Millisecond))))
	}
	return errors.Join(err, p.kill())
}

func TestKillsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	kills := number(t, "PERDURE_TORTURE_KILLS", killsUsual, killsShort)
	var total tally
	for round := 0; kills > 0; round++ {
		n := min(kills, killsPerStore)
		kills -= n
		total.add(killRound(t, round, n))
		if t.Failed() {
			return
		}
	}
	t.Logf("%v", total)
}

// killRound kills a child n times on one store, lets the agents end, and checks everything.
func killRound(t *testing.T, round, n int) tally {
	t.Helper()
	c := newChild(t, "killed")
	rng := rand.New(rand.NewPCG(seed(), uint64(round)))
	for i := range n {
		if err := c.life(rng); err != nil {
			t.Fatalf("round %d, kill %d, seed %d: %v", round, i, seed(), err)
		}
	}
	if err := c.finish(); err != nil {
		t.Fatalf("round %d, after %d kills, seed %d: %v", round, n, seed(), err)
	}
	sum, found := c.audit(t)
	for _, f := range found {
		t.Errorf("round %d, after %d kills, seed %d: %s", round, n, seed(), f)
	}
	sum.kills = n
	t.Logf("round %d: %v", round, sum)
	return sum
}
