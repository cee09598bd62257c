//go:build unix

package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// lateBy is how much later than its deadline a beginning is not the node's fault: on a busy machine a moment passes
// between any two lines.
const lateBy = 100 * time.Millisecond

// stops is how often a process is stopped in a round.
const stops = 12

// beginnings notes the calls that begin after their deadline.
type beginnings struct {
	mu    sync.Mutex
	file  string
	tardy bool // waits until that is so
}

func (b *beginnings) note(spec perdure.Spec, c perdure.Call) (err error) {
	i := slices.IndexFunc(c.Caller.Open, func(o perdure.Open) bool { return o.Decision == c.Decision })
	if i < 0 || spec.Effect != perdure.Once {
		return nil
	}
	deadline := c.Caller.Open[i].Deadline.Go()
	if b.tardy {
		<-time.After(time.Until(deadline) + 2*lateBy)
	}
	late := time.Since(deadline)
	if late < lateBy {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := os.OpenFile(b.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s of agent %s began %v after its deadline\n", spec.Name, c.Agent.Short(), late)
	return errors.Join(err, f.Close())
}

// stopped lets a process stop itself between any two of its steps until every deadline has passed, and then go on:
// nothing may begin late. Meanwhile another process, that only looks, must not be kept waiting.
func stopped(r *round) {
	c := newChild(r.t, "stopped")
	c.Stops, c.Point = true, 3+r.rng.Int64N(9)
	if r.sabotaged {
		c.Flaw = tardy
	}
	p, err := c.start()
	r.must(err)
	for range stops {
		if !stoppedWithin(p.cmd.Process.Pid, 5*time.Second) {
			break // everything it had to do is done
		}
		r.faults++
		c.lookedAt(r)
		<-time.After(limit + 2*lateBy)
		r.must(syscall.Kill(p.cmd.Process.Pid, syscall.SIGCONT))
	}
	r.must(p.kill())
	if b, err := os.ReadFile(c.Dir + "/late"); err == nil {
		for line := range strings.Lines(string(b)) {
			r.Wrong("%s", strings.TrimSpace(line))
		}
	}
	c.Stops, c.Point = false, 0
	c.conclude(r)
}

// stoppedWithin waits until a process has stopped itself.
func stoppedWithin(pid int, most time.Duration) bool {
	for end := time.Now().Add(most); time.Now().Before(end); <-time.After(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		switch rest[:min(1, len(rest))] {
		case "T":
			return true
		case "Z", "X":
			return false // it has ended
		}
	}
	return false
}

// lookLimit is how long a look at a store may take, on a busy machine.
const lookLimit = 5 * time.Second

// lookedAt reads all agents while the process that writes them stands still, maybe with the lock to write.
func (c child) lookedAt(r *round) {
	begun := time.Now()
	s, err := sqlite.Open(r.t.Context(), c.store(), sqlite.Options{Look: true})
	r.must(err)
	defer closed(r.t, s)
	for l, err := range s.List(r.t.Context(), perdure.Filter{}) {
		r.must(err)
		if _, err := perdure.Load(r.t.Context(), s, l.Agent); err != nil {
			r.Wrong("while its writer stands still agent %s cannot be read: %v", l.Agent.Short(), err)
		}
		r.checked++
	}
	if took := time.Since(begun); took > lookLimit {
		r.Wrong("a stopped writer kept a reader waiting for %v", took)
	}
}

// holdAndStop begins to write to a store and stops, as Ctrl-Z in the wrong moment does.
func holdAndStop(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE agents SET due=due")
	}
	if err == nil {
		err = standStill()
	}
	if err == nil {
		err = tx.Rollback()
	}
	return errors.Join(err, db.Close())
}

// standStill stops this process until it is told to go on. The thread that asks for it may be the last to stop.
func standStill() error {
	err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-time.After(50 * time.Millisecond)
	return err
}

// stoppedWriter has a command meet a store whose writer stands still: looking goes on, a write says after some seconds
// what it waits for, gives up after half a minute with nothing written, and works once the writer goes on.
func stoppedWriter(r *round) {
	h := newHome(r, "", "sqlite")
	h.ok("new", "listen", "--name", "listener")
	c := newChild(r.t, "holder")
	c.Holds = filepath.Join(h.store, storeFile)
	p, err := c.start()
	r.must(err)
	defer func() { _ = p.kill() }()
	if !stoppedWithin(p.cmd.Process.Pid, commandLimit) {
		r.t.Fatalf("the holder did not stop: %v", p.kill())
	}
	r.faults++
	resume := func() {
		r.must(syscall.Kill(p.cmd.Process.Pid, syscall.SIGCONT))
		r.must(p.wait())
	}
	if r.sabotaged {
		resume()
	}
	h.ok("ls")
	h.ok("show", "listener")
	begun := time.Now()
	_, err = h.try("send", "listener", "hello")
	took := time.Since(begun)
	for _, said := range []string{"another process holds the store", "nothing was written", "kill -CONT"} {
		if r.checked++; err == nil || !strings.Contains(err.Error(), said) {
			r.Wrong("a write beside a stopped writer, after %v: want %q, got %v", took, said, err)
		}
	}
	if r.sabotaged {
		return
	}
	if took < 25*time.Second || took > commandLimit {
		r.Wrong("it gave up after %v, want about 30 s", took)
	}
	resume()
	h.ok("send", "listener", "again")
	if log := h.ok("log", "listener"); strings.Contains(log, "hello") || !strings.Contains(log, "again") {
		r.Wrong("want only what was acknowledged:\n%s", log)
	}
}
