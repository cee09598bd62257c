package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/policy"
)

func policyDefaultCommand() *cobra.Command {
	c := command("policy default", cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if jsonFlag(c) {
			return term.WriteJSON(c.OutOrStdout(), map[string]any{"hash": policy.Default().Hash(), "text": policy.DefaultText()})
		}
		_, err := io.WriteString(c.OutOrStdout(), policy.DefaultText())
		return err
	}
	return c
}
