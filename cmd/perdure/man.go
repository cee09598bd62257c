package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/roff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeManuals writes a manual page for each command, and for each topic, to a folder, which is made if it is not
// there. Pages of the same names are replaced.
func writeManuals(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manuals are for everybody
		return err
	}
	page := func(name, text string) error {
		return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) //nolint:gosec // as above
	}
	for _, topic := range topicNames() {
		name := "perdure-" + strings.ReplaceAll(topic, ".", "-")
		if err := page(name+".7", topicManual(name, topic)); err != nil {
			return err
		}
	}
	var each func(c *cobra.Command) error
	each = func(c *cobra.Command) error {
		if err := page(manualName(c)+".1", manual(c)); err != nil {
			return err
		}
		for _, sub := range c.Commands() {
			if !sub.IsAvailableCommand() && sub.Name() != "help" {
				continue
			}
			if err := each(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return each(root)
}

// manualName is what the page of a command is called.
func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manual is the page of a command.
func manual(c *cobra.Command) string {
	var b strings.Builder
	heading(&b, manualName(c), "1", c.Short)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff.Escape(strings.TrimSuffix(c.UseLine(), " [flags]")))
	b.WriteString(".SH DESCRIPTION\n" + roff.Paragraphs(strings.TrimSpace(c.Long)))
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff.Escape(manualName(sub)), roff.Escape(sub.Short))
			}
		}
	}
	flags := func(title string, of *pflag.FlagSet) {
		if !of.HasAvailableFlags() {
			return
		}
		b.WriteString(".SH " + title + "\n")
		of.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			kind, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff.Escape(strings.TrimSpace(name+" "+kind)), roff.Escape(usage))
		})
	}
	flags("OPTIONS", c.LocalNonPersistentFlags())
	flags("OPTIONS OF EVERY COMMAND", c.Root().PersistentFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + roff.Verbatim(c.Example))
	}
	if codes := strings.Fields(c.Annotations[exitsKey]); len(codes) > 0 {
		b.WriteString(".SH EXIT STATUS\n")
		for _, m := range exitMeanings {
			if slices.Contains(codes, strconv.Itoa(m.code)) {
				fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", m.code, roff.Escape(m.meaning))
			}
		}
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff.Escape(manualName(c.Parent())))
	}
	return b.String()
}

// topicManual is the page of a topic.
func topicManual(name, topic string) string {
	var b strings.Builder
	heading(&b, name, "7", topic+" of Perdure")
	b.WriteString(".SH DESCRIPTION\n" + roff.Paragraphs(topicText(topic)) + ".SH SEE ALSO\n.BR perdure (1)\n")
	return b.String()
}

func heading(b *strings.Builder, name, section, short string) {
	fmt.Fprintf(b, ".TH %s %s \"\" \"perdure %s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff.Escape(name)), section,
		roff.Escape(version), roff.Escape(name), roff.Escape(short))
}
