package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// Policy says what a good set of policies has: its rules, and what is odd about them.
func Policy(w io.Writer, r *policy.Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ok: %d rules, set %s\n%s\n", len(r.Rules), r.Hash, strings.Join(view.InLines(r.Rules), "\n"))
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", view.OneLine(n, 0))
	}
	return term.Say(w, b.String())
}

// Faults says what is wrong with policy files, a line each.
func Faults(w io.Writer, faults []*policy.Fault) error {
	var b strings.Builder
	s := term.StyleOf(w)
	for _, f := range faults {
		what := f.What
		if f.Rule != "" {
			what = "rule " + f.Rule + ": " + what
		}
		at := fmt.Sprintf("%s:%d:%d:", view.InLine(f.File), f.Line, f.Column)
		b.WriteString(s.Head(at) + " " + view.OneLine(what, 0) + "\n")
	}
	_, err := io.WriteString(w, b.String()+s.Bad(fmt.Sprintf("wrong: %d", len(faults)))+"\n")
	return err
}

// Cases says what came of each case of a test of policies.
func Cases(w io.Writer, reports []policy.CaseReport) error {
	var b strings.Builder
	s, wrong := term.StyleOf(w), 0
	for _, r := range reports {
		if r.OK {
			b.WriteString(s.Good("ok   ") + "  " + view.InLine(r.Name) + "\n")
			continue
		}
		wrong++
		b.WriteString(s.Bad("wrong") + "  " + view.InLine(r.Name) + ": " + view.OneLine(r.Wrong, 0) + "\n")
	}
	fmt.Fprintf(&b, "%d cases, %d wrong\n", len(reports), wrong)
	return term.Say(w, b.String())
}

// Explained prints why a verdict is what it is.
func Explained(w io.Writer, e *home.Explained) error {
	s := term.StyleOf(w)
	var b strings.Builder
	t := term.Table{Fold: true}
	for _, row := range e.Page() {
		if len(row) == 1 {
			b.WriteString(term.Hang(view.InLine(row[0]), 4, s.Width) + "\n")
			continue
		}
		t.Add(row...)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return t.Write(w)
}

// Tools prints the tools of a node and what policy says of them; in brief one line for each.
func Tools(w io.Writer, found []home.ToolUse, brief bool) error {
	s := term.StyleOf(w)
	if brief {
		t := term.Table{Head: []string{"TOOL", "CLASS", "POLICY", "SOURCE"}, Fold: true}
		for _, u := range found {
			t.Add(u.Name, u.Effect.String(), u.Answer.String(), u.Source)
		}
		return t.Write(w)
	}
	tints := map[perdure.Answer]func(string) string{perdure.Allow: s.Good, perdure.Ask: s.Warn, perdure.Deny: s.Bad}
	var b strings.Builder
	for _, u := range found {
		row := func(label, text string) {
			b.WriteString(term.Wrapped(fmt.Sprintf("    %-8s", label), view.OneLine(text, 0), s.Width, s.Dim))
		}
		answer := tinted(tints[u.Answer], u.Answer.String())
		fmt.Fprintf(&b, "%s  %s  %s\n", s.Head(view.InLine(u.Name)), u.Effect, answer)
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
	}
	return term.Say(w, b.String())
}

// tinted is a text in a colour; without one it stays as it is, such as an answer that a later version gives.
func tinted(tint func(string) string, text string) string {
	if tint == nil {
		return text
	}
	return tint(text)
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
