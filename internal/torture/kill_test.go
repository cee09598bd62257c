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
	"sync"
	"syscall"
	"testing"
	"time"
)

// kills is how many kills a run makes.
var kills = amount{short: 40, usual: 300, long: 10_000, env: "PERDURE_TORTURE_KILLS"}

const (
	// killsPerStore is after how many kills the agents of a store are let to their end, and everything is held against the ledgers.
	killsPerStore = 100
	// startLimit is how long a child may take to open the store, and finishLimit how long the agents may take to end without kills.
	startLimit, finishLimit = time.Minute, 3 * time.Minute
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

// life starts a child, lets it live for a random moment, and kills it: one in five while it is still opening the store. Every second one
// kills itself, at a random one of its points.
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
			err = errors.Join(fmt.Errorf("it did not come to point %d in %v: its agents stand still", c.Point, startLimit), err)
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

func TestKillsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var total tally
	t.Cleanup(func() { t.Logf("all rounds: %v", total) })
	left := kills.of(t)
	for round := 0; left > 0; round++ {
		n := min(left, killsPerStore)
		left -= n
		t.Run(fmt.Sprint("round", round), func(t *testing.T) {
			t.Parallel()
			c := newChild(t, "killed")
			rng := rand.New(rand.NewPCG(seed(), uint64(round)))
			for i := range n {
				if err := c.life(rng); err != nil {
					t.Fatalf("kill %d, seed %d: %v", i, seed(), err)
				}
			}
			sum := c.conclude(t)
			mu.Lock()
			defer mu.Unlock()
			total.add(sum)
			total.kills += n
		})
	}
}

// callKills is how many children are killed at a system call.
var callKills = amount{short: 5, usual: 30, long: 1000}

// TestKillsAtSystemCallsLoseNothing kills children when they are about to write, sync, cut or rename a file, with the help of strace.
func TestKillsAtSystemCallsLoseNothing(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("strace", "-f", "-o", os.DevNull, "-e", "trace=fsync", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot be used here: %v %s", err, out)
	}
	c := newChild(t, "traced")
	rng := rand.New(rand.NewPCG(seed(), 1<<36))
	struck := 0
	for i := range callKills.of(t) {
		call := []string{"fsync", "fdatasync", "pwrite64", "pwrite64", "write", "ftruncate", "renameat", "unlinkat"}[rng.IntN(8)]
		inject := fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, 1+rng.IntN(8)) // counted by thread
		p, err := c.start("strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace="+call, "-e", inject)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- p.wait() }()
		select {
		case err = <-ended:
			struck++
		case <-time.After(500 * time.Millisecond): // it does not come to so many
			err = errors.Join(syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL), <-ended)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("kill %d at %s, seed %d: %v", i, inject, seed(), err)
		}
	}
	t.Logf("%d children were killed at a system call", struck)
	c.conclude(t)
}

// killsProof is how many kills are enough to find what a careless child does. Most take a few.
const killsProof = 400

func TestCarelessNodesAreNoticed(t *testing.T) {
	t.Parallel()
	for _, flaw := range []flaw{hasty, bold, sloppy} {
		t.Run(string(flaw), func(t *testing.T) {
			t.Parallel()
			c := newChild(t, "careless")
			c.Flaw = flaw
			rng := rand.New(rand.NewPCG(seed(), 1<<33))
			for i := range killsProof {
				if err := c.life(rng); err != nil {
					t.Fatal(err)
				}
				if i%10 != 9 {
					continue
				}
				_, found := c.audit(t)
				found = slices.DeleteFunc(found, func(f string) bool {
					return !strings.Contains(f, "happened before") && !strings.Contains(f, "is not there")
				})
				if len(found) > 0 {
					t.Logf("after %d kills: %s", i+1, found[0])
					return
				}
			}
			t.Errorf("%d kills, and nobody noticed", killsProof)
		})
	}
}
