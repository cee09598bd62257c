package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/policy"
)

func policyDefaultCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "default",
		Short: "Print the built-in policy",
		Long: `Default prints the policy that holds where a home has none of its own. A home with a .cedar file in policies/ has only its own rules, so begin
with these.`,
		Example: `  perdure policy default
  perdure policy default >.perdure/policies/mine.cedar`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitUsage),
		RunE: func(c *cobra.Command, _ []string) error {
			if jsonFlag(c) {
				return printJSON(c.OutOrStdout(), map[string]any{"hash": policy.Default().Hash(), "text": policy.DefaultText()})
			}
			_, err := io.WriteString(c.OutOrStdout(), policy.DefaultText())
			return err
		},
	}
}
