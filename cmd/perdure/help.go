package main

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
)

// helpFiles say of each command how it is called, what it is for in a line, what it does, examples, and its exit codes.
//
//go:embed help/*.txt
var helpFiles embed.FS

// exitsKey is the annotation that holds a command's exit codes.
const exitsKey = "exits"

// command is the command of these words, as its file describes it.
func command(words string, args cobra.PositionalArgs) *cobra.Command {
	b, err := helpFiles.ReadFile("help/" + strings.ReplaceAll(words, " ", "-") + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	text, codes, _ := strings.Cut(string(b), "\nExit codes: ")
	text, example, _ := strings.Cut(text, "\nExamples:\n")
	use, text, _ := strings.Cut(text, "\n")
	short, long, _ := strings.Cut(text, "\n")
	return &cobra.Command{
		Use:         use,
		Short:       short,
		Long:        strings.TrimSpace(long),
		Example:     strings.TrimRight(example, "\n"),
		Annotations: map[string]string{exitsKey: strings.TrimSpace(codes)},
		Args:        args,
	}
}

// helpText says what a command is for, how to call it, examples, what is below it, and how it ends.
func helpText(c *cobra.Command, s term.Style) string {
	w := new(strings.Builder)
	s.Width = cmp.Or(s.Width, term.PipeWidth())
	section := func(title string) { fmt.Fprintf(w, "\n%s\n", s.Head(title)) }

	about := strings.TrimSpace(c.Long)
	if about == "" {
		about = c.Short + "."
	}
	fmt.Fprintln(w, term.Reflow(about, s.Width))
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
				line := fmt.Sprintf("  %-*s  %s", sub.NamePadding(), sub.Name(), sub.Short)
				fmt.Fprintln(w, term.Hang(line, term.LastColumn(line), s.Width))
			}
		}
	}
	flags := func(title string, of *pflag.FlagSet) {
		if of.HasAvailableFlags() {
			section(title)
			w.WriteString(term.Flags(of, s.Width))
		}
	}
	flags("Flags", c.LocalNonPersistentFlags())
	flags("Flags of every command", everywhere(c))
	for i, m := range exitsOf(c) {
		if i == 0 {
			section("Exit codes")
		}
		fmt.Fprintf(w, "  %3d  %s\n", m.code, m.meaning)
	}
	return w.String()
}

// everywhere are the flags of every command; those about servers only where they can be used.
func everywhere(c *cobra.Command) *pflag.FlagSet {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if c.Annotations[remoteKey] != "" || !c.HasParent() || !slices.Contains(forServers, f.Name) {
			some.AddFlag(f)
		}
	})
	return some
}

// helpCommand is help as a command: perdure help canon check.
func helpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Help for a command, or for " + strings.Join(topicNames(), ", "),
		Long: `Help shows what a command does, how to call it, examples and exit codes. Topics are the formats that people write: ` +
			strings.Join(topicNames(), ", ") + `.`,
		Example: `  perdure help run
  perdure help script`,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
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
			if len(args) == 0 {
				names = append(names, topicNames()...)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 && topicText(args[0]) != "" {
			w := c.OutOrStdout()
			_, err := io.WriteString(w, term.Reflow(topicText(args[0]), cmp.Or(term.WidthOf(w), term.PipeWidth())))
			return err
		}
		at, rest, err := c.Root().Find(args)
		if err != nil || len(rest) > 0 {
			err := fmt.Errorf("there is no command %q", strings.Join(args, " "))
			return perdure.WithHint(perdure.Invalid(err), "perdure help lists them; topics are "+
				strings.Join(topicNames(), ", "))
		}
		return at.Help()
	}
	return c
}

// topicFiles are the texts of perdure help that belong to no one command.
//
//go:embed topics/*.txt
var topicFiles embed.FS

// topicText is the text of a topic; empty if there is none by that name.
func topicText(name string) string {
	b, err := topicFiles.ReadFile("topics/" + name + ".txt")
	if err != nil {
		return ""
	}
	return string(b)
}

// topicNames are the topics there are.
func topicNames() []string {
	found, err := topicFiles.ReadDir("topics")
	if err != nil {
		panic(err) // they are part of the program
	}
	var names []string
	for _, f := range found {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}
