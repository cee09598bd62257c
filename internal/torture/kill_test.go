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
)

// process is a running child.
type process struct {
	cmd    *exec.Cmd
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
