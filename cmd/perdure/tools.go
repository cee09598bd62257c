package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func toolsCommand() *cobra.Command {
	c := remotely(command("tools", cobra.MaximumNArgs(1)))
	h, out := lookFlag(c).acting(), outputFlags(c)
	p := powerFlags(c)
	brief := c.Flags().Bool("brief", false, "one line per tool")
	c.RunE = func(c *cobra.Command, args []string) error {
		if r, on, err := through(c, out); on {
			if err != nil {
				return err
			}
			return r.tools(strings.Join(args, ""), *brief)
		}
		var found []home.ToolUse
		find := func(ctx context.Context, s perdure.Store, a *perdure.Agent) (err error) {
			found, err = p.ListTools(ctx, h.Home, s, a)
			return err
		}
		var err error
		if len(args) > 0 {
			err = h.agent(args[0], find)
		} else {
			err = h.UseNew(c.Context(), find)
		}
		if err != nil {
			return err
		}
		return list(out, found, func(w io.Writer) error { return writeTools(w, found, *brief) })
	}
	return c
}

// writeTools prints tools for people.
func writeTools(w io.Writer, found []home.ToolUse, brief bool) error {
	s := term.StyleOf(w)
	if brief {
		t := term.Table{Head: []string{"TOOL", "CLASS", "POLICY", "SOURCE"}, Fold: true}
		for _, u := range found {
			t.Add(u.Name, u.Effect.String(), u.Answer.String(), u.Source)
		}
		return t.Write(w)
	}
	for _, u := range found {
		var b strings.Builder
		answer := u.Answer.String()
		switch u.Answer {
		case perdure.Allow:
			answer = s.Good(answer)
		case perdure.Ask:
			answer = s.Warn(answer)
		case perdure.Deny:
			answer = s.Bad(answer)
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", s.Head(view.InLine(u.Name)), u.Effect, answer)
		row := func(label, text string) {
			b.WriteString(term.Wrapped(fmt.Sprintf("    %-8s", label), view.OneLine(text, 0), s.Width, s.Dim))
		}
		if u.About != "" {
			b.WriteString(term.Paragraphs("    ", view.OneLine(u.About, 0), s.Width) + "\n")
		}
		if args := argsText(u.Args); args != "" {
			row("args", args)
		}
		row("from", u.Source)
		if u.Why != "" {
			row(u.Answer.String(), strings.TrimSpace(u.Why+view.Noted(strings.Join(u.Rules, ", "))))
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// argsText is the arguments of a tool in one line; those that may be left out are in brackets.
func argsText(args []home.ToolArg) string {
	var words []string
	for _, a := range args {
		word := strings.TrimSpace(a.Name + " " + a.Type)
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
