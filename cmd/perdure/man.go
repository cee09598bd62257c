package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/roff"
	"github.com/perdure/perdure/internal/term"
)

func manCommand() *cobra.Command {
	c := command("man", cobra.ArbitraryArgs)
	dir := c.Flags().String("dir", "",
		"write the pages of all commands and topics to man1 and man7 in this folder, which is made")
	c.RunE = func(c *cobra.Command, args []string) error {
		pages := manuals(c.Root())
		for _, topic := range topicNames() {
			pages = append(pages, &roff.Page{Name: manualName("perdure " + topic), Section: "7",
				Source: "perdure " + version,
				Short:  topic + " of Perdure", Description: topicText(topic), See: "perdure"})
		}
		if *dir != "" {
			return writeManuals(pages, *dir)
		}
		name := manualName(strings.Join(append([]string{"perdure"}, args...), " "))
		i := slices.IndexFunc(pages, func(p *roff.Page) bool { return p.Name == name })
		if i < 0 {
			return perdure.WithHint(perdure.Invalid(errors.New("there is no page about "+strings.Join(args, " "))),
				"perdure help lists the commands and topics")
		}
		return writeBytes(c, "", []byte(pages[i].String()))
	}
	return c
}

// writeManuals writes pages where man looks for their sections in a folder, which is made if it is not there. Pages of
// the same names are replaced.
func writeManuals(pages []*roff.Page, dir string) error {
	for _, p := range pages {
		in := filepath.Join(dir, "man"+p.Section)
		err := os.MkdirAll(in, 0o755) //nolint:gosec // manuals are for everybody
		if err == nil {
			//nolint:gosec // as above
			err = os.WriteFile(filepath.Join(in, p.Name+"."+p.Section), []byte(p.String()), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manualName is what the page of a command or topic is called.
func manualName(words string) string { return strings.NewReplacer(" ", "-", ".", "-").Replace(words) }

// manuals are the pages of a command and of those below it.
func manuals(c *cobra.Command) []*roff.Page {
	p := &roff.Page{Name: manualName(c.CommandPath()), Section: "1", Short: c.Short, Source: "perdure " + version,
		Synopsis:    strings.TrimSuffix(c.UseLine(), " [flags]"),
		Description: strings.TrimSpace(c.Long), Examples: c.Example}
	all, subs := []*roff.Page{p}, roff.Part{Title: "COMMANDS"}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			subs.Items = append(subs.Items, roff.Item{Word: manualName(sub.CommandPath()), Text: sub.Short, Page: true})
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
		p.See = manualName(c.Parent().CommandPath())
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
		kind, usage := term.FlagKind(f)
		all = append(all, roff.Item{Word: strings.TrimSpace(name + " " + kind), Text: usage})
	})
	return all
}
