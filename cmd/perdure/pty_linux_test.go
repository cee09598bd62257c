package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perdure/perdure/internal/dev/wiretest"
)

// desk is a person at a terminal.
type desk struct {
	t    *testing.T
	tty  *os.File // the person's side
	cmd  *exec.Cmd
	seen strings.Builder
	read int // how much of it was waited for
}

// sit starts the program at a terminal of its own.
func sit(t *testing.T, args ...string) *desk {
	t.Helper()
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal can be had here: ", err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	raw, err := tty.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if bad := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); bad != nil || err != nil {
		t.Skip("no terminal can be had here: ", bad, err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal can be had here: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, tty: tty, cmd: exec.CommandContext(t.Context(), self)}
	d.cmd.Args = append([]string{"perdure"}, args...)
	d.cmd.Env = append(os.Environ(), "NO_COLOR=1")
	d.cmd.Stdin, d.cmd.Stdout, d.cmd.Stderr = side, side, side
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := side.Close(); err != nil {
		t.Fatal(err)
	}
	return d
}

// sees waits until the terminal shows a text after what it showed before.
func (d *desk) sees(text string) {
	d.t.Helper()
	if err := d.tty.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		d.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		if i := strings.Index(d.seen.String()[d.read:], text); i >= 0 {
			d.read += i + len(text)
			return
		}
		n, err := d.tty.Read(buf)
		d.seen.Write(buf[:n])
		if err != nil {
			d.t.Fatalf("%v before %q was seen on\n%s", err, text, d.seen.String())
		}
	}
}

func (d *desk) types(text string) {
	d.t.Helper()
	if _, err := d.tty.WriteString(text); err != nil {
		d.t.Fatal(err)
	}
}

// gone waits for the end of the program.
func (d *desk) gone(code int) {
	d.t.Helper()
	stuck := time.AfterFunc(time.Minute, func() { _ = d.cmd.Process.Kill() })
	defer stuck.Stop()
	if got := exitOf(d.t, d.cmd.Wait()); got != code {
		d.t.Errorf("exit code %d, want %d\n%s", got, code, d.seen.String())
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

func TestChatAtATerminal(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	long := said("thinking about it for long")
	long.Hold = hold
	write := func(id string) wiretest.Turn {
		return said("I write it down", called(id, "files_write", `{"path":"a.txt","text":"hi"}`))
	}
	s, args := served(t, "anthropic", wiretest.Turns(write("c1"), said("Done"), write("c2"), said("Then not"), long,
		said("Here again")))
	files := t.TempDir()
	args = append([]string{"chat", "--files", files}, args...)
	d := sit(t, args...)
	d.sees("> ")
	d.types("write it down\n")
	d.sees("| I write it down")
	d.sees("approval  may it? files.write")
	d.sees("files.write of chat: approve this? y, n, or n and why: ")
	if _, err := os.Stat(filepath.Join(files, "a.txt")); err == nil {
		t.Error("it was written before it was approved")
	}
	d.types("y\n")
	d.sees("- calls files.write")
	d.sees("| Done\r\n> ")
	d.types("again \\\n")
	d.sees("… ")
	d.types("please\n")
	d.sees("approve this? y, n, or n and why: ")
	d.types("why?\n")
	d.sees("this decides nothing")
	d.sees("approve this? y, n, or n and why: ")
	d.types("?\n")
	d.sees("y or yes alone approves this one action")
	d.sees("approve this? y, n, or n and why: ")
	d.types("n too much\n")
	d.sees("refused by a person: too much")
	d.sees("| Then not\r\n> ")
	d.types("think\n")
	d.sees("| thinking abou")
	d.types(ctrlC)
	d.sees("perdure: interrupted\r\n")
	d.sees("press Enter to go on, or say something\r\n> ")
	d.types("\n")
	d.sees("| Here again\r\n> ")
	d.types(ctrlD)
	d.gone(exitOK)
	if got := fmt.Sprint(s.Requests()[3]); !strings.Contains(got, "why?") ||
		!strings.Contains(got, "says] again \nplease") {
		t.Errorf("the model is not told why: %s", got)
	}
	d = sit(t, args...)
	d.sees("this is chat, the last you talked to; for another: perdure chat ")
	d.sees("> think")
	d.sees("| Here again\r\n")
	d.sees("> ")
	d.types(ctrlC) // there is no turn to interrupt
	d.gone(exitOK)
	close(hold)
}

// What was typed before the question was seen is no answer to it, and is not lost.
func TestTypedAheadIsNoApproval(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	first := said("I write it down", called("c1", "files_write", `{"path":"a.txt","text":"hi"}`))
	first.Hold = hold
	_, args := served(t, "openai", wiretest.Turns(first, said("Well")))
	files := t.TempDir()
	d := sit(t, append([]string{"chat", "--files", files}, args...)...)
	d.sees("> ")
	d.types("write it down\n")
	d.sees("| I writ")
	d.types("y\n")
	close(hold)
	d.sees("approve this? y, n, or n and why: ")
	d.types("n not yet\n")
	d.sees("| Well\r\n> y") // it is kept for the next message, and not sent by itself
	d.types(ctrlC + "/quit\n")
	d.gone(exitOK)
	if _, err := os.Stat(filepath.Join(files, "a.txt")); err == nil {
		t.Error("what was typed ahead approved it")
	}
}

func TestRunAsksAtATerminal(t *testing.T) {
	t.Parallel()
	_, args := served(t, "gemini", wiretest.Turns(said("I write",
		called("c1", "files_write", `{"path":"a.txt","text":"hi"}`)), said("Done")))
	must(t, exitOK, "new", "write it", "--name", "writer", "--store", args[1])
	files := t.TempDir()
	d := sit(t, append([]string{"run", "writer", "--files", files}, args...)...)
	d.sees("may it? files.write")
	d.sees("approve this? y, n, or n and why: ")
	d.types("y\n")
	d.sees("writer has ended: ok")
	d.gone(exitOK)
	if _, err := os.Stat(filepath.Join(files, "a.txt")); err != nil {
		t.Error(err)
	}
}

// What is decided in another terminal is asked no more in this one, and the agent goes on.
func TestRunNoticesWhatIsDecidedElsewhere(t *testing.T) {
	t.Parallel()
	_, args := served(t, "gemini", wiretest.Turns(said("I write",
		called("c1", "files_write", `{"path":"a.txt","text":"hi"}`)), said("Done")))
	must(t, exitOK, "new", "write it", "--name", "writer", "--store", args[1])
	files := t.TempDir()
	d := sit(t, append([]string{"run", "writer", "--files", files}, args...)...)
	d.sees("approve this? y, n, or n and why: ")
	must(t, exitOK, "approve", "writer", "--store", args[1])
	d.sees("this was decided elsewhere meanwhile")
	d.sees("writer has ended: ok")
	d.gone(exitOK)
	if _, err := os.Stat(filepath.Join(files, "a.txt")); err != nil {
		t.Error(err)
	}
}
