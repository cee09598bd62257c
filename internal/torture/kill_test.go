//go:build unix

package torture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// kills is after how many kills the agents of a store are let to their end, and everything is held against the
	// ledgers.
	kills = 16
	// startLimit is how long a child may take to open the store, and finishLimit how long the agents may take to end
	// without kills. On a machine that has no time for them their calls run out of it, and are made again later and
	// later: only agents that stand still must take longer.
	startLimit, finishLimit = time.Minute, 10 * time.Minute
	// maxPoint is how many points a child passes at most: a hundred or so take as long as it is let live otherwise.
	maxPoint = 120
)

// process is a running child.
type process struct {
	cmd    *exec.Cmd
	opened chan error // nil when it has opened the store
	stderr bytes.Buffer
}

// start starts a child, under another program if one is given.
func (c child) start(under ...string) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	task, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	args := append(under, exe)
	p := &process{cmd: exec.Command(args[0], args[1:]...), opened: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(task))
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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

// kill kills the child, and what it runs under, and returns what it complained of.
func (p *process) kill() error {
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
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
	timer := time.AfterFunc(finishLimit, func() { _ = p.cmd.Process.Kill() })
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
// Every second one kills itself, at a random one of its points.
func (c child) life(rng *rand.Rand) error {
	if rng.IntN(2) == 0 {
		c.Point = 1 + rng.Int64N(maxPoint)
	}
	p, err := c.start()
	if err != nil {
		return err
	}
	if c.Point > 0 {
		timer := time.AfterFunc(startLimit, func() { _ = p.cmd.Process.Kill() })
		err := p.wait()
		if !timer.Stop() {
			err = errors.Join(fmt.Errorf("it did not come to point %d in %v: its agents stand still", c.Point,
				startLimit), err)
		}
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

// killParts kill processes that run nodes.
func killParts() []part {
	return []part{
		{name: "kills at random", round: killed, sabotage: "a careless node", tries: 20},
		{name: "kills, two processes", round: rivals, sabotage: "once effects repeated", tries: 20},
		{name: "kills at system calls", round: killedAtCalls, needs: needsStrace, sabotage: "a hasty acknowledgement",
			tries: 20},
		{name: "stopped past deadlines", round: stopped, needs: needsLinux, sabotage: "a tool that begins late",
			tries: 20},
		{name: "writer stopped in a write", round: stoppedWriter, needs: needsOrphans, sabotage: "it goes on"},
	}
}

// killed kills a process again and again.
func killed(r *round) {
	c := newChild(r.t, "killed")
	if r.sabotaged {
		c.Flaw = one(r, hasty, bold, sloppy)
	}
	for range kills {
		r.must(c.life(r.rng))
		r.faults++
	}
	c.conclude(r)
}

// rivals kills two processes that use one store.
func rivals(r *round) {
	c := newChild(r.t, "red")
	c.Rivals = true
	if r.sabotaged {
		c.Flaw = bold
	}
	both := []child{c, c}
	both[1].Name = "blue"
	done := make(chan error, len(both))
	for i := range both {
		rng := rand.New(rand.NewPCG(r.rng.Uint64(), uint64(i)))
		go func() {
			for range kills / len(both) {
				if err := both[i].life(rng); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range both {
		if err := <-done; err != nil {
			r.Wrong("%v", err)
		}
		r.faults += kills / len(both)
	}
	c.conclude(r)
}

// conclude lets the agents end and checks everything. Careless nodes may not come to an end.
func (c child) conclude(r *round) {
	r.t.Helper()
	if c.Flaw == "" {
		if err := c.finish(); err != nil {
			r.Wrong("%v", err)
		}
		c.audit(r)
		return
	}
	c.audit(r)
	r.found = slices.DeleteFunc(r.found, func(f string) bool {
		return !strings.Contains(f, "happened before") && !strings.Contains(f, "is not there") &&
			!strings.Contains(f, "began")
	})
}

// needsStrace says why strace cannot be used.
func needsStrace() string {
	if out, err := exec.Command("strace", "-f", "-o", os.DevNull, "-e", "trace=fsync", "true").
		CombinedOutput(); err != nil {
		return fmt.Sprintf("strace cannot be used here: %v %s", err, out)
	}
	return ""
}

// killedAtCalls kills children when they are about to write, sync, cut or rename a file, with the help of strace.
func killedAtCalls(r *round) {
	c := newChild(r.t, "traced")
	if r.sabotaged {
		c.Flaw = hasty
	}
	for range kills / 3 {
		call := one(r, "fsync", "fdatasync", "pwrite64", "pwrite64", "write", "ftruncate", "renameat", "unlinkat")
		inject := fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, 1+r.rng.IntN(8)) // counted by thread
		p, err := c.start("strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace="+call, "-e", inject)
		r.must(err)
		ended := make(chan error, 1)
		go func() { ended <- p.wait() }()
		select {
		case err = <-ended:
			r.faults++
		case <-time.After(500 * time.Millisecond): // it does not come to so many
			err = errors.Join(syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL), <-ended)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			r.Wrong("killed at %s: %v", inject, err)
		}
	}
	c.conclude(r)
}
