package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// startPerdure runs the program itself, by way of this test binary.
func startPerdure(t *testing.T, args ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout *bufio.Reader,
	stderr *strings.Builder) {
	t.Helper()
	stderr = new(strings.Builder)
	cmd, stdin, stdout = startPerdureTo(t, stderr, args...)
	return cmd, stdin, stdout, stderr
}

// startPerdureTo is startPerdure with a place for what it says beside its output.
func startPerdureTo(t *testing.T, stderr io.Writer, args ...string) (cmd *exec.Cmd, stdin io.WriteCloser,
	stdout *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self)
	cmd.Path, cmd.Args = self, append([]string{"perdure"}, args...) // the name says which program to be
	cmd.WaitDelay = 10 * time.Second
	stdin, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdin, bufio.NewReader(out)
}

// A harness that sends a line and waits for its verdict must get it, and an interrupt must end the wait for the next
// line.
func TestVerdictsComeLineByLineUntilInterrupted(t *testing.T) {
	cmd, stdin, stdout, stderr := startPerdure(t, "canon", "check", "--hex-lines")
	for i := range 3 {
		if _, err := fmt.Fprintf(stdin, "0%d\n1", i); err != nil { // with the beginning of the next line
			t.Fatal(err)
		}
		got, err := stdout.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("{\"ok\":true,\"text\":\"%d\"}\n", i)
		if i > 0 {
			want = `{"ok":false,"phase":"structure","predicate":"input.hex","path":"$","offset":2,`
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("verdict %d: got %s, want %s", i, got, want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("got %v, want exit code %d", err, exitInterrupted)
	}
	if got, want := stderr.String(), "perdure: interrupted\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
