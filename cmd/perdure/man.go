package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perdure/perdure/internal/roff"
)

// writeManuals writes a manual page for each command, and for each topic, to a folder, which is made if it is not
// there. Pages of the same names are replaced.
func writeManuals(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manuals are for everybody
		return err
	}
	pages := manuals(root)
	for _, topic := range topicNames() {
		name := "perdure-" + strings.ReplaceAll(topic, ".", "-")
		pages = append(pages, &roff.Page{Name: name, Section: "7", Short: topic + " of Perdure",
			Description: topicText(topic), See: "perdure"})
	}
	for _, p := range pages {
		p.Source = "perdure " + version
		name := filepath.Join(dir, p.Name+"."+p.Section)
		if err := os.WriteFile(name, []byte(p.String()), 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}

// manualName is what the page of a command is called.
func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manuals are the pages of a command and of those below it.
func manuals(c *cobra.Command) []*roff.Page {
	p := &roff.Page{Name: manualName(c), Section: "1", Short: c.Short,
		Synopsis:    strings.TrimSuffix(c.UseLine(), " [flags]"),
		Description: strings.TrimSpace(c.Long), Examples: c.Example}
	all, subs := []*roff.Page{p}, roff.Part{Title: "COMMANDS"}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			subs.Items = append(subs.Items, roff.Item{Word: manualName(sub), Text: sub.Short, Page: true})
		}
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			all = append(all, manuals(sub)...)
		}
	}
	p.Parts = []roff.Part{subs, {Title: "OPTIONS", Items: options(c.LocalNonPersistentFlags())},
		{Title: "OPTIONS OF EVERY COMMAND", Items: options(c.Root().PersistentFlags())}}
	for _, m := range exitsOf(c) {
		p.Exits = append(p.Exits, roff.Item{Word: strconv.Itoa(m.code), Text: m.meaning})
	}
	if c.HasParent() {
		p.See = manualName(c.Parent())
	}
	return all
}

// options are flags as a page lists them.
func options(of *pflag.FlagSet) (all []roff.Item) {
	of.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		all = append(all, roff.Item{Word: strings.TrimSpace(name + " " + kind), Text: usage})
	})
	return all
}
