package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

// exitsKey is the annotation that holds a command's exit codes.
const exitsKey = "exits"

// exits notes which exit codes a command has, for its help.
func exits(codes ...int) map[string]string {
	var words []string
	for _, code := range codes {
		words = append(words, strconv.Itoa(code))
	}
	return map[string]string{exitsKey: strings.Join(words, " ")}
}

// helpText says what a command is for, how to call it, examples, what is below it, and how it ends.
func helpText(c *cobra.Command, s style) string {
	w := new(strings.Builder)
	section := func(title string) { fmt.Fprintf(w, "\n%s\n", s.head(title)) }

	about := strings.TrimSpace(c.Long)
	if about == "" {
		about = c.Short + "."
	}
	fmt.Fprintln(w, about)
	section("Usage")
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", c.CommandPath())
	} else {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.Example != "" {
		section("Examples")
		fmt.Fprintln(w, strings.TrimRight(c.Example, "\n"))
	}
	if c.HasAvailableSubCommands() {
		section("Commands")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if flags := c.LocalNonPersistentFlags().FlagUsages(); flags != "" {
		section("Flags")
		w.WriteString(flags)
	}
	if flags := globalFlags(c); flags != "" {
		section("Flags of every command")
		w.WriteString(flags)
	}
	if codes := strings.Fields(c.Annotations[exitsKey]); len(codes) > 0 {
		section("Exit codes")
		for _, m := range exitMeanings {
			if slices.Contains(codes, strconv.Itoa(m.code)) {
				fmt.Fprintf(w, "  %3d  %s\n", m.code, m.meaning)
			}
		}
	}
	return w.String()
}

// globalFlags describes the flags all commands share.
func globalFlags(c *cobra.Command) string { return c.Root().PersistentFlags().FlagUsages() }

// helpCommand is help as a command: perdure help canon check.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command, or of a topic: conditions",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			at, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []cobra.Completion
			for _, sub := range at.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && topics[args[0]] != "" {
				_, err := io.WriteString(c.OutOrStdout(), topics[args[0]])
				return err
			}
			at, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return perdure.WithHint(perdure.Invalid(fmt.Errorf("there is no command %q", strings.Join(args, " "))), "perdure help lists them")
			}
			return at.Help()
		},
	}
}
