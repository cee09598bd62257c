package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/store/sqlite"
)

func benchCommand() *cobra.Command {
	c := command("bench", nil)
	c.AddCommand(benchCodecCommand(), benchStepsCommand(), benchDurableCommand(), benchResumeCommand(), benchDormantCommand(), benchAppendCommand(), benchCapsuleCommand(), benchTalkCommand(), benchPolicyCommand())
	return c
}

// benchReport prints what a benchmark came to: tables and notes, or JSON.
func benchReport(c *cobra.Command, r interface{ Tables() []bench.Table }) error {
	w := c.OutOrStdout()
	if jsonFlag(c) {
		return printJSON(w, r)
	}
	for i, t := range r.Tables() {
		var before, after strings.Builder
		if i > 0 {
			before.WriteString("\n")
		}
		if t.Title != "" {
			fmt.Fprintf(&before, "%s\n\n", t.Title)
		}
		for i, note := range t.Notes {
			if i == 0 {
				after.WriteString("\n")
			}
			fmt.Fprintln(&after, note)
		}
		_, err := io.WriteString(w, before.String())
		if err == nil {
			err = (&term.Table{Head: t.Head, Rows: t.Rows}).Write(w)
		}
		if err == nil {
			_, err = io.WriteString(w, after.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// benchPlace is where a benchmark keeps its store, as its flags say.
type benchPlace struct {
	bench.Place
	sync *choice // nil: full
}

// benchFlags adds --store to a benchmark.
func benchFlags(c *cobra.Command) *benchPlace {
	p := new(benchPlace)
	c.Flags().StringVar(&p.Folder, "store", "", "create the store in a new folder below this one, or mem: (default: the temporary folder)")
	return p
}

// syncFlag adds --sync to a benchmark.
func (p *benchPlace) syncFlag(c *cobra.Command) *benchPlace {
	p.sync = &choice{sqlite.Full.String(), []string{sqlite.Full.String(), sqlite.Normal.String()}}
	choiceFlag(c, p.sync, "sync", "what an acknowledged write survives: full a power cut, normal only kill -9")
	return p
}

// check reads the flags and refuses what cannot be measured; for a benchmark of its own reason, a store in memory too.
func (p *benchPlace) check(c *cobra.Command, noMemory string) error {
	if p.sync != nil {
		p.Sync, _ = sqlite.ParseSync(p.sync.value) // the flag takes no other
	}
	if p.InMemory() && noMemory != "" {
		return perdure.Invalid(errors.New(noMemory + "; name a folder with --store"))
	}
	if err := p.Check(); err != nil {
		return perdure.Invalid(err)
	}
	return nil
}

// lines measures each line in a folder of its own, and prints them all.
func (p *benchPlace) lines(c *cobra.Command, n int, line func(i int) (*bench.Figures, error)) error {
	var run bench.Run
	for i := range n {
		err := p.With(func() error {
			f, err := line(i)
			if err == nil {
				p.Label(f)
				run = append(run, f)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return benchReport(c, run)
}

// atLeastOne refuses flags below one, given as names and values.
func atLeastOne(c *cobra.Command, pairs ...any) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if n, ok := pairs[i+1].(int); ok && n < 1 {
			return perdure.Invalid(fmt.Errorf("--%v %d: want at least 1", pairs[i], n))
		}
	}
	return nil
}

// payloadFits refuses a payload that no entry can hold.
func payloadFits(c *cobra.Command, n int) error {
	const room = 4 << 10 // for the rest of the body
	if n < 0 || n > perdure.MaxBody-room {
		return perdure.Invalid(fmt.Errorf("--payload %d: want 0 to %d bytes", n, perdure.MaxBody-room))
	}
	return nil
}
