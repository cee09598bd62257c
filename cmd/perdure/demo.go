package main

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

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "demo [flags]",
		Short: "See an agent survive a kill, ask, sleep, move and be verified",
		Long: `Demo runs real processes in a temporary folder and narrates each step with the command a user would type: an agent works, is killed with
SIGKILL in the middle of an effect that must not be repeated, goes on without repeating it, asks a person, sleeps, is exported as one
file, imported into another store with another key, woken there, and ends. Then its memory is verified; one bit of the file is
changed, and the predicate that refuses it is named. It takes well under a minute and leaves nothing behind.`,
		Example: `  perdure demo
  perdure demo --keep`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitInterrupted),
	}
	keep := c.Flags().Bool("keep", false, "keep the folder, to look around")
	c.RunE = func(c *cobra.Command, _ []string) error {
		dir, err := os.MkdirTemp("", "perdure-demo-")
		if err != nil {
			return err
		}
		d := &demo{ctx: c.Context(), w: c.OutOrStdout(), dir: dir, here: filepath.Join(dir, "here"), there: filepath.Join(dir, "there")}
		if jsonFlag(c) {
			d.w = io.Discard
		}
		d.style = styleOf(d.w)
		began := time.Now()
		err = d.play()
		if *keep {
			note(c, "the folder is %s", dir)
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err != nil {
			return err
		}
		if jsonFlag(c) {
			return printJSON(c.OutOrStdout(), struct {
				OK        bool    `json:"ok"`
				Seconds   float64 `json:"seconds"`
				Kills     int     `json:"kills"`
				Ledger    int     `json:"ledger_lines"` // of two effects that are done once
				Predicate string  `json:"predicate"`    // that refused the changed file
			}{true, time.Since(began).Seconds(), d.kills, d.ledger(), d.predicate})
		}
		d.say("That took %.0f seconds.", time.Since(began).Seconds())
		return nil
	}
	return c
}

// demo is one demonstration.
type demo struct {
	ctx       context.Context
	w         io.Writer
	style     style
	dir       string
	here      string // the first store
	there     string // the second
	kills     int
	predicate string
	lines     int
}

// play plays the demonstration. It ends at the first thing that is not as it should be.
func (d *demo) play() error {
	for _, act := range []func() error{d.work, d.kill, d.goOn, d.ask, d.move, d.finish, d.prove} {
		if err := act(); err != nil {
			return errors.Join(err, d.ctx.Err())
		}
	}
	return nil
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.w, "\n%s\n", d.style.head("# "+fmt.Sprintf(format, args...))) // if nobody can read it, the exit code still tells
}

// run runs a command as a process of its own and shows it with what it prints. It must exit with the code given.
func (d *demo) run(store string, want int, args ...string) error {
	cmd := d.command(store, args...)
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	_, _ = fmt.Fprintf(d.w, "%s\n", d.style.good("$ "+d.typed(store, args)))
	err := cmd.Run()
	for line := range strings.Lines(all.String()) {
		_, _ = io.WriteString(d.w, "  "+line)
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
func (d *demo) quietly(store string, args ...string) error {
	if _, err := d.command(store, args...).Output(); err != nil {
		return childError(strings.Join(args, " "), err)
	}
	return nil
}

// command is this program in the folder of the demonstration, with a store.
func (d *demo) command(store string, args ...string) *exec.Cmd {
	cmd := self(d.ctx, args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), home.StoreEnv+"="+store, "NO_COLOR=1")
	return cmd
}

// typed is a command line as a user would type it.
func (d *demo) typed(store string, args []string) string {
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

// ledger counts the lines of the shop's ledger: what was really done outside.
func (d *demo) ledger() int {
	b, err := os.ReadFile(filepath.Join(d.dir, shopLedger))
	if err == nil {
		d.lines = bytes.Count(b, []byte("\n"))
	}
	return d.lines
}

// work makes the agent.
func (d *demo) work() error {
	err := errors.Join(
		os.WriteFile(filepath.Join(d.dir, shopPrices), []byte(`{"tea":{"kilo":12.00}}`+"\n"), 0o600),
		os.WriteFile(filepath.Join(d.dir, "buyer.yaml"), []byte(demoScript), 0o600),
	)
	for _, dir := range []string{d.here, d.there} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, home.PolicyDir), 0o700),
			os.WriteFile(filepath.Join(dir, home.PolicyDir, "shop.cedar"), []byte(demoPolicy), 0o600),
			os.WriteFile(filepath.Join(dir, home.NodeFileName), []byte(demoNode), 0o600))
	}
	if err != nil {
		return err
	}
	d.say("Two stores, each with a key, a policy and a node.yaml that names a script as advisor and a shop as tool. An agent is made in the first.")
	for store, name := range map[string]string{d.here: "alice", d.there: "bob"} {
		if err := d.quietly(store, "key", "new", "--name", name); err != nil {
			return err
		}
	}
	return d.run(d.here, exitOK, "new", "buy a kilo of tea", "--name", "tea", "--advisor", "buyer", "--budget-calls", "20")
}

// kill lets the agent work and kills its process in the middle of an effect that must not be repeated.
func (d *demo) kill() error {
	d.say("It works: it reads the price and reserves the tea, which must be done once, never twice. The shop has it in its ledger but has not answered yet.")
	cmd := d.command(d.here, "run", "tea")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_, _ = fmt.Fprintf(d.w, "%s\n", d.style.good("$ perdure run tea &"))
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(5 * time.Millisecond); d.ledger() == 0; {
		select {
		case <-tick.C:
		case err := <-ended:
			return fmt.Errorf("the run ended before it reserved anything: %w: %s", err, out.String())
		}
	}
	_, _ = fmt.Fprintf(d.w, "%s\n", d.style.good(fmt.Sprintf("$ kill -9 %d", cmd.Process.Pid)))
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	<-ended
	d.kills++
	return d.run(d.here, exitOK, "log", "tea")
}

// goOn waits until the deadline of the effect and runs the agent again.
func (d *demo) goOn() error {
	d.say("The decision is in memory, its outcome is not. Nobody may guess: until its deadline, in %s, the effect is left alone.", shopLimit)
	if err := d.run(d.here, exitOK, "show", "tea"); err != nil {
		return err
	}
	select {
	case <-d.ctx.Done():
		return d.ctx.Err()
	case <-time.After(shopLimit):
	}
	d.say("Then the tool looks at the world: the ledger has it. The agent goes on without doing it again, up to what policy asks a person.")
	if err := d.run(d.here, exitWaiting, "run", "tea"); err != nil {
		return err
	}
	if n := d.ledger(); n != 1 {
		return fmt.Errorf("the ledger has %d lines, want 1: the reservation was repeated", n)
	}
	d.say("The ledger has %d reservation.", d.ledger())
	return nil
}

// ask answers what the agent asks.
func (d *demo) ask() error {
	d.say("Paying asks a person. The approval binds exactly this payment, and is used once.")
	if err := d.run(d.here, exitOK, "inbox"); err != nil {
		return err
	}
	if err := d.run(d.here, exitOK, "approve", "tea", "--note", "checked the price"); err != nil {
		return err
	}
	if err := d.run(d.here, exitOK, "run", "tea"); err != nil {
		return err
	}
	if n := d.ledger(); n != 2 {
		return fmt.Errorf("the ledger has %d lines, want 2: one reservation, one payment", n)
	}
	d.say("It sleeps until the tea is delivered. That costs nothing: no process, no timer.")
	return nil
}

// move carries the agent to another store as a file.
func (d *demo) move() error {
	d.say("The agent moves: one file, taken in by the other store, which trusts the first one's key. It arrives paused.")
	key, err := d.command(d.here, "key", "show").Output()
	if err != nil {
		return childError("key show", err)
	}
	for _, step := range []struct {
		store string
		args  []string
	}{
		{d.here, []string{"export", "tea", "tea.agent"}},
		{d.there, []string{"key", "trust", strings.TrimSpace(string(key)), "--rights", "own", "--comment", "the first store"}},
		{d.there, []string{"import", "tea.agent", "--trusted"}},
		{d.there, []string{"resume", "tea"}},
	} {
		if err := d.run(step.store, exitOK, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// finish wakes the agent in its new place.
func (d *demo) finish() error {
	d.say("There it is woken by an event, and ends.")
	if err := d.run(d.there, exitOK, "send", "tea", "delivered", `{"by":"van"}`); err != nil {
		return err
	}
	if err := d.run(d.there, exitOK, "run", "tea"); err != nil {
		return err
	}
	if n := d.ledger(); n != 2 {
		return fmt.Errorf("the ledger has %d lines, want 2", n)
	}
	return nil
}

// prove verifies the memory, changes one bit, and verifies again.
func (d *demo) prove() error {
	d.say("Anyone can check what it did: every link, every hash, every signature, of both keys.")
	if err := d.run(d.there, exitOK, "verify", "tea", "--trusted"); err != nil {
		return err
	}
	if err := d.run(d.there, exitOK, "export", "tea", "done.agent"); err != nil {
		return err
	}
	path := filepath.Join(d.dir, "done.agent")
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	at := len(b) / 2
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return err
	}
	d.say("Now one bit of the file is changed, in byte %d of %d.", at, len(b))
	if err := d.run(d.there, exitRejected, "verify", "./done.agent"); err != nil {
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
	d.predicate = refused.Predicate
	d.say("It was refused by the predicate %s.", d.predicate)
	return nil
}
