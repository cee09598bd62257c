package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/forms"
)

func canonCommand() *cobra.Command {
	c := command("canon", nil)
	c.AddCommand(canonCheckCommand(), canonConvertCommand())
	return c
}

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	of    []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.of, "|") }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("it is one of %s", strings.Join(c.of, ", "))
	}
	c.value = s
	return nil
}

// choiceFlag adds a flag that takes one of a few words and completes them.
func choiceFlag(c *cobra.Command, v *choice, name, usage string) {
	c.Flags().Var(v, name, usage)
	err := c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(v.of, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was added a line above
	}
}

func formFlag(c *cobra.Command, name, initial, usage string) *choice {
	v := &choice{initial, []string{forms.Binary, forms.Described, forms.Text}}
	choiceFlag(c, v, name, usage)
	return v
}

func asFlag(c *cobra.Command) *choice {
	v := &choice{forms.Auto, []string{forms.Auto, forms.Value, forms.AnEntry, forms.Memory}}
	choiceFlag(c, v, "as", "what the bytes are; auto distinguishes entries from schema-less values by their first bytes")
	return v
}

// limitFlag adds the flag for the longest value to read.
func limitFlag(c *cobra.Command) *int64 {
	return c.Flags().Int64("limit-bytes", canon.DefaultBytes, "refuse a value longer than this")
}

// limitsOf is what the flag asks for.
func limitsOf(c *cobra.Command, bytes int64) (perdure.Limits, error) {
	if bytes < 1 {
		return perdure.Limits{}, perdure.Invalid(fmt.Errorf("--limit-bytes %d: want at least 1", bytes))
	}
	return perdure.Limits{Bytes: bytes}, nil
}
