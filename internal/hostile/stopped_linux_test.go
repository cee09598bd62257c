package hostile

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A payment is under way, and its node stands still or is gone. Somebody who sees no payment at the bank settles it as
// failed, and the agent pays again. Then the one that was under way goes on.

// underWay is a payment whose node is at work, in a call with a short deadline.
type underWay struct {
	*place
	node *exec.Cmd
	said bytes.Buffer
	busy int // the process that will pay
	mcp  string
}

const payDeadline = 2 * time.Second

// begun has an agent pay with a tool of the server, up to where it is told to go on.
func begun(t *testing.T, tool string) *underWay {
	t.Helper()
	u := &underWay{place: newPlace(t), mcp: server(t, "evil", "["+offered(tool, "")+"]")}
	pay := "execute: {tool: evil." + tool + ", args: {}, deadline: " + payDeadline.String() + "}\n"
	u.write("twice.yaml", "turns:\n  - "+pay+"    as: first\n  - when: results.first.signal != \"ok\"\n    "+pay+
		"  - end: {}\n")
	u.ok("new", "pay", "--name", "bill")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	u.node = u.command(ctx, u.runs()...)
	u.node.Stdout, u.node.Stderr, u.node.WaitDelay = &u.said, &u.said, time.Second
	must(t, u.node.Start())
	u.until("somebody begins to pay", func() bool {
		b, _ := os.ReadFile(u.path("work", "busy")) // it is not there yet
		u.busy, _ = strconv.Atoi(string(b))
		return u.busy != 0
	})
	t.Cleanup(func() { _ = syscall.Kill(u.busy, syscall.SIGKILL) }) // it may have ended
	return u
}

// runs are the arguments by which the agent is worked on.
func (u *underWay) runs() []string {
	return []string{"run", "bill", "--quiet", "--advisor", "script:twice.yaml", "--mcp", u.mcp,
		"--policy", "open.cedar"}
}

// late waits until the call is past its deadline: from then on people may settle it.
func (u *underWay) late() { time.Sleep(payDeadline + 100*time.Millisecond) }

// settle says what came of the payment.
func (u *underWay) settle(signal string) got {
	u.t.Helper()
	decision := u.ok("show", "bill", "--jq", ".open[].decision")
	return u.perdure("settle", "bill", decision, "--signal", signal)
}

// stands fails unless the payment cannot be settled, because of a process.
func (u *underWay) stands(pid int) {
	u.t.Helper()
	g := u.settle("failed")
	for _, text := range []string{"still under way", strconv.Itoa(pid), "kill -CONT", "kill -9"} {
		if g.code != 6 || !strings.Contains(g.err, text) {
			u.t.Errorf("settled beside a process that will pay: want a refusal, exit code 6, with %q, got %v", text, g)
		}
	}
}

// goOn lets whoever is to pay do so.
func (u *underWay) goOn() {
	u.t.Helper()
	u.write("work/go", "")
}

func TestPaymentOfAStoppedNodeIsNotSettled(t *testing.T) {
	t.Parallel()
	u := begun(t, slowTool)
	for _, pid := range []int{u.node.Process.Pid, u.busy} {
		must(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	u.late()
	u.stands(u.node.Process.Pid)
	u.goOn()
	u.perdure(u.runs()...)
	u.done(0, "a payment that a stopped node has under way")
	must(t, syscall.Kill(u.busy, syscall.SIGCONT))
	u.until("it has paid", func() bool { return u.ledger() > 0 })
	must(t, syscall.Kill(u.node.Process.Pid, syscall.SIGCONT))
	_ = u.node.Wait() // it says whether a person is to settle it, or that it is done
	if u.ok("show", "bill", "--jq", ".open | length") != "0" {
		if g := u.settle("ok"); g.code != 0 {
			t.Errorf("nobody is at work on it any more: %v", g)
		}
	}
	u.perdure(u.runs()...)
	u.done(1, "a payment whose node was stopped in the middle of it")
}

func TestPaymentOfAKilledNodesServerIsNotSettled(t *testing.T) {
	t.Parallel()
	u := begun(t, detachedTool)
	must(t, u.node.Process.Kill())
	_ = u.node.Wait() // it was killed
	u.late()
	u.stands(u.busy)
	u.goOn()
	u.until("its payer ends", func() bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(u.busy) + "/environ") // empty for a zombie
		return err != nil || len(b) == 0
	})
	if g := u.settle("ok"); g.code != 0 {
		t.Errorf("nobody is at work on it any more: %v", g)
	}
	u.perdure(u.runs()...)
	u.done(1, "a payment that outlived its node and its server")
}

// until waits for something.
func (u *underWay) until(what string, is func() bool) {
	u.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) { // between two looks
		if time.Now().After(end) {
			u.t.Fatalf("waited %v until %s; the node says:\n%s", patience, what, u.said.String())
		}
	}
}

// A command paid and ended in time, while its node stood still. That its time is up when the node goes on changes
// nothing about how it ended.
func TestPaymentThatEndedWhileItsNodeStoodStillIsKnown(t *testing.T) {
	t.Parallel()
	for range 4 { // which of the two the node learns first is chance
		t.Run("", func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			pay := "execute: {tool: shell, deadline: " + payDeadline.String() + ", args: {script: " +
				"\"echo $$ >busy; until [ -e go ]; do sleep 0.01; done; echo paid >>ledger\"}}\n"
			p.write("twice.yaml", "turns:\n  - "+pay+"    as: first\n  - when: results.first.signal != \"ok\"\n    "+
				pay+"  - end: {}\n")
			p.ok("new", "pay", "--name", "bill")
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			t.Cleanup(cancel)
			u := &underWay{place: p}
			u.node = p.command(ctx, append([]string{"run", "bill"}, powers("open", "twice")...)...)
			u.node.Stdout, u.node.Stderr, u.node.WaitDelay = &u.said, &u.said, time.Second
			must(t, u.node.Start())
			u.until("somebody begins to pay", func() bool { return p.exists("work", "busy") })
			must(t, syscall.Kill(u.node.Process.Pid, syscall.SIGSTOP))
			u.goOn()
			u.until("it has paid", func() bool { return p.ledger() > 0 })
			u.late()
			must(t, syscall.Kill(u.node.Process.Pid, syscall.SIGCONT))
			if err := u.node.Wait(); err != nil {
				t.Errorf("%v: %s", err, u.said.String())
			}
			p.done(1, "a payment that ended while its node stood still")
		})
	}
}
