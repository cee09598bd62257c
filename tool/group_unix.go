//go:build unix

package tool

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// startGroup starts a command at the head of a process group of its own, which is killed as a whole when the context of
// the command ends, and when this process does, however it ends: what a node that was killed had begun must not go on
// behind the back of the next one.
func startGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	guard.ready()
	started := make(chan error)
	starter() <- func() { // nothing comes between the two: a command forks soon
		err := cmd.Start()
		if err == nil {
			guard.add(cmd.Process.Pid)
		}
		started <- err
	}
	return <-started
}

// killGroup ends what a command left running. A group that is empty is no error.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	guard.drop(cmd.Process.Pid)
}

// starter is where commands are started: on one thread that lives as long as the process. A death signal is sent when
// the thread that started a command ends, and other threads of a Go program may.
var starter = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// guard is the guardian of this process.
var guard guardian

// guardian is a process that kills the process groups it was told of when this process is gone: then its standard input
// ends. The death signal reaches only the head of a group, and not every system has it.
type guardian struct {
	mu     sync.Mutex
	groups map[int]bool
	cmd    *exec.Cmd
	in     io.WriteCloser
}

// guardScript keeps a list of groups, + and - a number at a time. It holds nothing else of this process, and no signal
// meant for this one ends it.
const guardScript = `trap '' HUP INT QUIT TERM
all=
while read -r op p; do
	case $op in
	+) all="$all $p" ;;
	-) rest=
		for q in $all; do [ "$q" = "$p" ] || rest="$rest $q"; done
		all=$rest ;;
	esac
done
for p in $all; do kill -9 "-$p"; done`

// ready starts the guardian, if there is none.
func (g *guardian) ready() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in == nil {
		_ = g.start() // add tries again
	}
}

// add has a group killed if this process dies. Without sh there is no guardian, and the death signal has to do.
func (g *guardian) add(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.groups == nil {
		g.groups = map[int]bool{}
	}
	g.groups[pid] = true
	if g.in != nil && g.say('+', pid) == nil {
		return
	}
	if g.start() != nil {
		return
	}
	for pid := range g.groups {
		_ = g.say('+', pid) // if it has died already, the next add starts another
	}
}

// drop forgets a group that is gone: its number may be given to somebody else.
func (g *guardian) drop(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.groups[pid] {
		delete(g.groups, pid)
		if g.in != nil {
			_ = g.say('-', pid)
		}
	}
}

func (g *guardian) say(op byte, pid int) error {
	_, err := fmt.Fprintf(g.in, "%c %d\n", op, pid)
	return err
}

// start starts the guardian, in place of one that was killed.
func (g *guardian) start() error {
	if g.cmd != nil {
		_ = g.in.Close()
		_ = g.cmd.Wait() // it was killed
		g.cmd, g.in = nil, nil
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.cmd, g.in = cmd, in
	return nil
}
