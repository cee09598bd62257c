package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func toolsCommand() *cobra.Command {
	c := command("tools", cobra.MaximumNArgs(1))
	h, out := lookFlag(c).acting(), outputFlags(c)
	p := powerFlags(c)
	brief := c.Flags().Bool("brief", false, "one line per tool")
	c.RunE = func(c *cobra.Command, args []string) error {
		var found []home.ToolUse
		find := func(ctx context.Context, s perdure.Store, a *perdure.Agent) (err error) {
			found, err = p.ListTools(ctx, h.Home, s, a)
			return err
		}
		if err := forAgentOrNew(c.Context(), h, args, find); err != nil {
			return err
		}
		return list(out, found, func(w io.Writer) error { return writeTools(w, found, *brief) })
	}
	return c
}

// forAgentOrNew calls f with the agent that is named, or with one such as new would make.
func forAgentOrNew(ctx context.Context, h *homeFlag, args []string, f func(context.Context, perdure.Store, *perdure.Agent) error) error {
	if len(args) > 0 {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			id, err := home.Find(ctx, s, arg)
			if err != nil {
				return err
			}
			a, err := h.Load(ctx, s, id)
			if err != nil {
				return err
			}
			return f(ctx, s, a)
		})
	}
	if err := h.Locate(); err != nil {
		return err
	}
	a, err := h.Newcomer(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(h.File); h.File != "" && err == nil {
		return h.use(false, func(ctx context.Context, s perdure.Store) error { return f(ctx, s, a) })
	}
	return f(ctx, new(perdure.MemStore), a)
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
