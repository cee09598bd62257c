package main

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/dev/demo"
	"github.com/perdure/perdure/internal/term"
)

func demoCommand() *cobra.Command {
	c := command("demo", cobra.NoArgs)
	keep := c.Flags().Bool("keep", false, "keep the folder, to look around")
	c.RunE = func(c *cobra.Command, _ []string) error {
		dir, err := os.MkdirTemp("", "perdure-demo-")
		if err != nil {
			return err
		}
		d := &demo.Demo{Dir: dir, Out: c.OutOrStdout(), Waiting: exitWaiting, Rejected: exitRejected}
		if jsonFlag(c) {
			d.Out = io.Discard
		}
		style := term.StyleOf(d.Out)
		d.Head, d.Good = style.Head, style.Good
		began := time.Now()
		err = d.Play(c.Context())
		if *keep {
			note(c, "the folder is %s", dir)
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err != nil {
			return err
		}
		if jsonFlag(c) {
			return term.WriteJSON(c.OutOrStdout(), struct {
				OK        bool    `json:"ok"`
				Seconds   float64 `json:"seconds"`
				Kills     int     `json:"kills"`
				Ledger    int     `json:"ledger_lines"` // of two effects that are done once
				Predicate string  `json:"predicate"`    // that refused the changed file
			}{true, time.Since(began).Seconds(), d.Kills, d.Ledger(), d.Predicate})
		}
		d.Say("That took %.0f seconds.", time.Since(began).Seconds())
		return nil
	}
	return c
}
