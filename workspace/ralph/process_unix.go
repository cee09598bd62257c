//go:build unix

package ralph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure/internal/disk"
)

// Process runs attempts as processes. Each has a guard of its own, which outlives this process and writes down how the
// command ended, and a folder with its traces.
type Process struct {
	Argv    []string      // the command; {prompt} and {context} stand for what it is told and the file that says it
	Guard   []string      // how to run Guard: a program and its first arguments
	Folder  string        // below which each attempt has a folder
	Dir     string        // where the command runs
	Env     []string      // besides its own
	Timeout time.Duration // of one attempt; zero: none
	Show    io.Writer     // what the command writes goes there, too; nil: nowhere
}

// The files of an attempt.
const (
	contextFile = "context.md"
	resultFile  = "result"
	outputFile  = "output.log"
	exitFile    = "exit"
	lockFile    = "lock"
)

// exitNote is what a guard writes down.
type exitNote struct {
	Code int `json:"code"`
}

const (
	lockFD  = 3                // where guard and command find the lock: it is held while any of them lives
	grace   = 10 * time.Second // how long a command may take to end when it is asked to
	maxTail = 256 << 10        // of the output that is looked at
	polling = 200 * time.Millisecond
)

// Run implements Command.
func (p *Process) Run(ctx context.Context, a Attempt) (Ended, error) {
	dir := filepath.Join(p.Folder, a.Nonce)
	g, lock, err := p.prepare(dir, a)
	if err != nil {
		return Ended{}, &NotStarted{err}
	}
	if err := g.Start(); err != nil {
		return Ended{}, &NotStarted{errors.Join(err, lock.Close())}
	}
	err = lock.Close() // the guard has its own
	if p.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, p.Timeout)
		defer stop()
	}
	p.wait(ctx, g, dir)
	end, known, e := p.ended(dir)
	if err = errors.Join(err, e); err == nil && !known {
		err = ErrUnknown // the guard was killed
	}
	if p.Timeout > 0 && ctx.Err() != nil {
		end.Late = true
		end.Output += fmt.Sprintf("\n(it was ended after %v)", p.Timeout)
	}
	return end, err
}

// prepare is the guard of an attempt, ready to start, and the lock that it gets.
func (p *Process) prepare(dir string, a Attempt) (*exec.Cmd, *os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	p.sweep()
	context := filepath.Join(dir, contextFile)
	if err := os.WriteFile(context, []byte(a.Context), 0o600); err != nil {
		return nil, nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := disk.Lock(lock, false); err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	argv := append(append(append([]string{}, p.Guard...), dir, "--"), p.Argv...)
	for i := len(argv) - len(p.Argv); i < len(argv); i++ {
		argv[i] = strings.NewReplacer("{prompt}", a.Context, "{context}", context).Replace(argv[i])
	}
	g := exec.Command(argv[0], argv[1:]...)
	g.Dir = p.Dir
	g.Env = append(append(os.Environ(), p.Env...), "PERDURE_TASK="+a.Task.ID, "PERDURE_TASK_TITLE="+a.Task.Title,
		"PERDURE_ATTEMPT="+strconv.Itoa(a.Number), "PERDURE_CONTEXT="+context,
		"PERDURE_NONCE="+a.Nonce, "PERDURE_RESULT="+filepath.Join(dir, resultFile))
	g.ExtraFiles = []*os.File{lock}
	g.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends this process does not end it
	return g, lock, nil
}

// kept is how long the traces of an attempt are kept.
const kept = 14 * 24 * time.Hour

// sweep removes the traces of old attempts. What is left over takes room, and nothing else.
func (p *Process) sweep() {
	all, _ := os.ReadDir(p.Folder)
	for _, d := range all {
		if info, err := d.Info(); err == nil && d.IsDir() && time.Since(info.ModTime()) > kept {
			_ = os.RemoveAll(filepath.Join(p.Folder, d.Name()))
		}
	}
}

// wait waits for a guard, and ends its command when ctx ends.
func (p *Process) wait(ctx context.Context, g *exec.Cmd, dir string) {
	over := make(chan struct{})
	go func() {
		_ = g.Wait() // what it wrote down counts
		close(over)
	}()
	shown := int64(0)
	tick := time.NewTicker(polling)
	defer tick.Stop()
	stop, kill := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case <-over:
			p.show(dir, &shown)
			return
		case <-tick.C:
			p.show(dir, &shown)
		case <-stop:
			stop = nil
			_ = syscall.Kill(-g.Process.Pid, syscall.SIGTERM) // it may be over
			kill = time.After(grace)
		case <-kill:
			_ = syscall.Kill(-g.Process.Pid, syscall.SIGKILL)
		}
	}
}

// show copies what a command wrote since.
func (p *Process) show(dir string, from *int64) {
	if p.Show == nil {
		return
	}
	f, err := os.Open(filepath.Join(dir, outputFile))
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	n, _ := io.Copy(p.Show, io.NewSectionReader(f, *from, 1<<62))
	*from += n
}

// Find implements Command.
func (p *Process) Find(ctx context.Context, nonce string, waits func()) (Ended, bool, error) {
	dir := filepath.Join(p.Folder, filepath.Base(nonce))
	for told := false; ; told = true {
		end, known, err := p.ended(dir)
		if err != nil || known {
			return end, known, err
		}
		lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return Ended{}, false, nil // nothing was started
		}
		if err != nil {
			return Ended{}, false, err
		}
		held := disk.Lock(lock, false)
		if err := lock.Close(); err != nil {
			return Ended{}, false, err
		}
		if held == nil { // guard and command have ended; what it said may still say that it was done
			end, known, err := p.ended(dir)
			return end, known || said(end, nonce).done, err
		}
		if !told {
			waits()
		}
		select {
		case <-ctx.Done():
			return Ended{}, false, context.Cause(ctx)
		case <-time.After(polling):
		}
	}
}

// ended is what the files of an attempt say, and whether its guard saw the end.
func (p *Process) ended(dir string) (Ended, bool, error) {
	var end Ended
	note, err := os.ReadFile(filepath.Join(dir, exitFile))
	known := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return end, false, err
	}
	var n exitNote
	if known {
		if err := json.Unmarshal(note, &n); err != nil {
			return end, false, fmt.Errorf("%s: %w", filepath.Join(dir, exitFile), err)
		}
		end.Code = n.Code
	} else {
		end.Code = -1
	}
	if end.Output, err = readTail(filepath.Join(dir, outputFile)); err == nil {
		end.Result, err = readTail(filepath.Join(dir, resultFile))
	}
	return end, known, err
}

// readTail is the end of a file; empty if there is none.
func readTail(name string) (string, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxTail), maxTail))
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), err
}

// Guard runs the command of an attempt, whose folder and lock it was given, and writes down how it ended. It is the
// body of a process of its own.
func Guard(dir string, argv []string) error {
	asked := make(chan os.Signal, 8) // the command is asked to end, too: this must see its end
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	out, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(dir, contextFile))
	if err != nil {
		return err
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = in, out, out // files: nothing waits for what the command leaves running
	c.ExtraFiles = []*os.File{os.NewFile(lockFD, lockFile)}
	c.SysProcAttr = dying()
	note := exitNote{}
	if err := runLocked(c); err != nil {
		var exit *exec.ExitError
		if note.Code = 127; errors.As(err, &exit) {
			note.Code = exit.ExitCode()
		} else {
			_, _ = fmt.Fprintln(out, err) // the exit code says it, too
		}
	}
	b, err := json.Marshal(note)
	if err == nil {
		err = out.Sync()
	}
	if err != nil {
		return err
	}
	return disk.WriteWhole(filepath.Join(dir, exitFile), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
