package main

import (
	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
)

// liveFlag adds --live to a command that works on one agent. What it returns shows on standard error what models say
// from now on, if they are to be heard.
func liveFlag(c *cobra.Command) func(p *home.Powers, quiet bool) {
	live := c.Flags().Bool("live", false,
		"stream what a language model says (default: if standard error is a terminal)")
	return func(p *home.Powers, quiet bool) {
		heard := !quiet && term.IsTerminal(c.ErrOrStderr())
		if c.Flags().Changed("live") {
			heard = *live
		}
		if heard {
			s := term.NewScreen(c.ErrOrStderr())
			c.SetErr(s)
			p.Say = s.Say
		}
	}
}
