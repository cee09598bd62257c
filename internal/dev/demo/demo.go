// Package demo is the demonstration of the command line: a shop, an agent that buys there, and what befalls it.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/self"
)

// Demo is one demonstration, of real processes in a folder.
type Demo struct {
	Dir        string              // an empty folder; whoever made it removes it
	Out        io.Writer           // where it is told
	Head, Good func(string) string // how headings and commands look

	Waiting, Rejected int // the exit codes of this program for an agent that waits for a person, and for refused bytes

	Kills     int    // how many processes were killed
	Predicate string // what refused the changed file

	ctx         context.Context
	here, there string // the two stores
	lines       int
}

// Play plays the demonstration. It ends at the first thing that is not as it should be.
func (d *Demo) Play(ctx context.Context) error {
	d.ctx, d.here, d.there = ctx, filepath.Join(d.Dir, "here"), filepath.Join(d.Dir, "there")
	for _, act := range []func() error{d.work, d.kill, d.goOn, d.ask, d.move, d.finish, d.prove} {
		if err := act(); err != nil {
			return errors.Join(err, d.ctx.Err())
		}
	}
	return nil
}

// Say tells something between two commands.
func (d *Demo) Say(format string, args ...any) {
	// if nobody can read it, the exit code still tells
	_, _ = fmt.Fprintf(d.Out, "\n%s\n", d.Head("# "+fmt.Sprintf(format, args...)))
}

// run runs a command as a process of its own and shows it with what it prints. It must exit with the code given.
func (d *Demo) run(store string, want int, args ...string) error {
	cmd := d.command(store, args...)
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	_, _ = fmt.Fprintf(d.Out, "%s\n", d.Good("$ "+d.typed(store, args)))
	err := cmd.Run()
	for line := range strings.Lines(all.String()) {
		_, _ = io.WriteString(d.Out, "  "+line)
	}
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("perdure %s: exit code %d, want %d: %s", strings.Join(args, " "), got, want, all.String())
	}
	return nil
}

// quietly runs a command without showing it.
func (d *Demo) quietly(store string, args ...string) error {
	if _, err := d.command(store, args...).Output(); err != nil {
		return self.Error(strings.Join(args, " "), err)
	}
	return nil
}

// command is this program in the folder of the demonstration, with a store.
func (d *Demo) command(store string, args ...string) *exec.Cmd {
	cmd := self.Command(d.ctx, args...)
	cmd.Dir = d.Dir
	cmd.Env = append(os.Environ(), "PERDURE_STORE="+store, "PERDURE_SERVER=", "NO_COLOR=1") // nobody's agents but these
	return cmd
}

// typed is a command line as a user would type it.
func (d *Demo) typed(store string, args []string) string {
	words := []string{"perdure"}
	for _, a := range args {
		if strings.ContainsAny(a, " {\"") {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	if store == d.there {
		words = append(words, "--store", "there")
	}
	return strings.Join(words, " ")
}

// Ledger counts the lines of the shop's ledger: what was really done outside.
func (d *Demo) Ledger() int {
	b, err := os.ReadFile(filepath.Join(d.Dir, shopLedger))
	if err == nil {
		d.lines = bytes.Count(b, []byte("\n"))
	}
	return d.lines
}

// work makes the agent.
func (d *Demo) work() error {
	err := errors.Join(
		os.WriteFile(filepath.Join(d.Dir, shopPrices), []byte(`{"tea":{"kilo":12.00}}`+"\n"), 0o600),
		os.WriteFile(filepath.Join(d.Dir, "buyer.yaml"), []byte(script), 0o600),
	)
	for _, home := range []string{d.here, d.there} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(home, "policies"), 0o700),
			os.WriteFile(filepath.Join(home, "policies", "shop.cedar"), []byte(policy), 0o600),
			os.WriteFile(filepath.Join(home, "node.yaml"), []byte(nodeYAML), 0o600))
	}
	if err != nil {
		return err
	}
	d.Say("Two stores, each with a key, a policy and a node.yaml that names a script as advisor and a shop as tool. " +
		"An agent is made in the first.")
	for store, name := range map[string]string{d.here: "alice", d.there: "bob"} {
		if err := d.quietly(store, "key", "new", "--name", name); err != nil {
			return err
		}
	}
	return d.run(d.here, 0, "new", "buy a kilo of tea", "--name", "tea", "--advisor", "buyer", "--budget-calls", "20")
}

// kill lets the agent work and kills its process in the middle of an effect that must not be repeated.
func (d *Demo) kill() error {
	d.Say("It works: it reads the price and reserves the tea, which must be done once, never twice. The shop has it " +
		"in its ledger but has not answered yet.")
	cmd := d.command(d.here, "run", "tea")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_, _ = fmt.Fprintf(d.Out, "%s\n", d.Good("$ perdure run tea &"))
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(5 * time.Millisecond); d.Ledger() == 0; {
		select {
		case <-tick.C:
		case err := <-ended:
			return fmt.Errorf("the run ended before it reserved anything: %w: %s", err, out.String())
		}
	}
	_, _ = fmt.Fprintf(d.Out, "%s\n", d.Good(fmt.Sprintf("$ kill -9 %d", cmd.Process.Pid)))
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	<-ended
	d.Kills++
	return d.run(d.here, 0, "log", "tea")
}

// goOn waits until the deadline of the effect and runs the agent again.
func (d *Demo) goOn() error {
	d.Say("The decision is in memory, its outcome is not. Nobody may guess: until its deadline, in %s, the effect is "+
		"left alone.", shopLimit)
	if err := d.run(d.here, 0, "show", "tea"); err != nil {
		return err
	}
	select {
	case <-d.ctx.Done():
		return d.ctx.Err()
	case <-time.After(shopLimit):
	}
	d.Say("Then the tool looks at the world: the ledger has it. The agent goes on without doing it again, up to what " +
		"policy asks a person.")
	if err := d.run(d.here, d.Waiting, "run", "tea"); err != nil {
		return err
	}
	if n := d.Ledger(); n != 1 {
		return fmt.Errorf("the ledger has %d lines, want 1: the reservation was repeated", n)
	}
	d.Say("The ledger has %d reservation.", d.Ledger())
	return nil
}

// ask answers what the agent asks.
func (d *Demo) ask() error {
	d.Say("Paying asks a person. The approval binds exactly this payment, and is used once.")
	if err := d.run(d.here, 0, "inbox"); err != nil {
		return err
	}
	if err := d.run(d.here, 0, "approve", "tea", "--note", "checked the price"); err != nil {
		return err
	}
	if err := d.run(d.here, 0, "run", "tea"); err != nil {
		return err
	}
	if n := d.Ledger(); n != 2 {
		return fmt.Errorf("the ledger has %d lines, want 2: one reservation, one payment", n)
	}
	d.Say("It sleeps until the tea is delivered. That costs nothing: no process, no timer.")
	return nil
}

// move carries the agent to another store as a file.
func (d *Demo) move() error {
	d.Say("The agent moves: one file, taken in by the other store, which trusts the first one's key. It arrives " +
		"paused.")
	key, err := d.command(d.here, "key", "show").Output()
	if err != nil {
		return self.Error("key show", err)
	}
	for _, step := range []struct {
		store string
		args  []string
	}{
		{d.here, []string{"export", "tea", "tea.agent"}},
		{d.there, []string{"key", "trust", strings.TrimSpace(string(key)), "--rights", "own", "--comment",
			"the first store"}},
		{d.there, []string{"import", "tea.agent", "--trusted"}},
		{d.there, []string{"resume", "tea"}},
	} {
		if err := d.run(step.store, 0, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// finish wakes the agent in its new place.
func (d *Demo) finish() error {
	d.Say("There it is woken by an event, and ends.")
	if err := d.run(d.there, 0, "send", "tea", "delivered", `{"by":"van"}`); err != nil {
		return err
	}
	if err := d.run(d.there, 0, "run", "tea"); err != nil {
		return err
	}
	if n := d.Ledger(); n != 2 {
		return fmt.Errorf("the ledger has %d lines, want 2", n)
	}
	return nil
}

// prove verifies the memory, changes one bit, and verifies again.
func (d *Demo) prove() error {
	d.Say("Anyone can check what it did: every link, every hash, every signature, of both keys.")
	if err := d.run(d.there, 0, "verify", "tea", "--trusted"); err != nil {
		return err
	}
	if err := d.run(d.there, 0, "export", "tea", "done.agent"); err != nil {
		return err
	}
	path := filepath.Join(d.Dir, "done.agent")
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	at := len(b) / 2
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return err
	}
	d.Say("Now one bit of the file is changed, in byte %d of %d.", at, len(b))
	if err := d.run(d.there, d.Rejected, "verify", "./done.agent"); err != nil {
		return err
	}
	cmd := d.command(d.there, "verify", "./done.agent", "--json")
	out, err := cmd.Output()
	if err == nil {
		return errors.New("a changed file was accepted")
	}
	var refused perdure.Rejection
	if err := json.Unmarshal(out, &refused); err != nil {
		return fmt.Errorf("read the rejection: %w", err)
	}
	d.Predicate = refused.Predicate
	d.Say("It was refused by the predicate %s.", d.Predicate)
	return nil
}
