package show

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// Nodes prints a table of nodes, its head first.
func Nodes(w io.Writer, table [][]string) error {
	if len(table) == 0 {
		return nil
	}
	t := term.Table{Head: table[0], Tint: []func(string) string{nil, nil, term.StyleOf(w).Dim}}
	for _, row := range table[1:] {
		t.Add(row...)
	}
	return t.Write(w)
}

// Transfer says what passed to and from another place.
func Transfer(w io.Writer, t *home.Transfer) error {
	var b strings.Builder
	for i := range t.Passed {
		one := &t.Passed[i]
		name := view.CommandName(one.Name, one.Agent)
		peer := view.InLine(t.Peer)
		passed(&b, name, "came from "+peer, ", and it is new here", "; held: ", one.Pulled, nil)
		way := "went to " + peer
		if one.Moved {
			way += " with its seat"
		}
		passed(&b, name, way, ", where it was new", "; held there: ", one.Pushed, one.Before)
		if one.Doubled > 0 {
			fmt.Fprintf(&b, "%s: %s; look: perdure inbox\n", name, view.Twice)
		}
		switch {
		case one.Stays != "":
			fmt.Fprintf(&b, "%s: no seat goes with it: %s\n", name, view.InLine(one.Stays))
		case one.Waits != "":
			fmt.Fprintf(&b, "%s: does not go on there yet: %s\n", name, view.InLine(one.Waits))
		case one.Kept != "":
			fmt.Fprintf(&b, "%s: not passed on: %s\n", name, view.InLine(one.Kept))
		case one.Behind:
			fmt.Fprintf(&b, "%s: %s has more of it than this home; to get that: perdure pull %s %s\n", name, peer, name,
				peer)
		}
	}
	for _, x := range t.Failed {
		if t.Agents == 1 { // that is what the command ends with
			break
		}
		fmt.Fprintf(&b, "%s: %s\n", view.CommandName(x.Name, x.Agent), view.InLine(x.Error))
		if x.Do != "" {
			fmt.Fprintf(&b, "  %s\n", view.InLine(x.Do))
		}
	}
	for _, x := range t.Left {
		fmt.Fprintf(&b, "%s was left alone: %s\n", view.InLine(x.File), view.InLine(x.Error))
	}
	if n := int64(len(t.Private)); n > 0 {
		fmt.Fprintf(&b, "left out: the private notes of %s: %s; name a role to pass its notes on, too\n",
			view.Several(n, "role"), view.InLine(strings.Join(t.Private, ", ")))
	}
	b.WriteString(tally(t))
	return term.Say(w, b.String())
}

// tally counts the agents of a transfer by what came of them.
func tally(t *home.Transfer) string {
	moved, kept, behind := int64(0), 0, 0
	for i := range t.Passed {
		if one := &t.Passed[i]; one.Pulled != nil || one.Pushed != nil {
			moved++
		} else if one.Behind {
			behind++
		}
		if t.Passed[i].Kept != "" {
			kept++
		}
	}
	if t.Agents == 0 {
		where := map[exchange.Way]string{exchange.Push: "here", exchange.Pull: "in " + view.InLine(t.Peer),
			exchange.Both: "here or in " + view.InLine(t.Peer)}
		return "nothing passed: no agent " + where[t.Way] + " matches\n"
	}
	text := "nothing passed"
	if moved > 0 {
		text = fmt.Sprintf("%s, %s passed", view.Several(moved, "agent"), view.Several(t.Entries, "entry"))
	}
	if t.Same > 0 || len(t.Failed) == 0 {
		text += fmt.Sprintf("; %d the same already", t.Same)
	}
	if behind > 0 {
		text += fmt.Sprintf("; %d with more there", behind)
	}
	if kept > 0 {
		text += fmt.Sprintf("; %d not passed on", kept)
	}
	if n := len(t.Failed); n > 0 {
		text += fmt.Sprintf("; %d failed", n)
	}
	return text + "\n"
}

// passed says what of an agent went one way, some of it before; nil: nothing.
func passed(b *strings.Builder, name, way, created, held string, r, before *exchange.Receipt) {
	if r == nil {
		return
	}
	entries, isNew := r.Entries, r.Created
	if before != nil {
		entries, isNew = entries+before.Entries, isNew || before.Created
	}
	fmt.Fprintf(b, "%s: %s %s", name, view.Several(entries, "entry"), way)
	if isNew {
		b.WriteString(created)
	}
	if r.Held != "" {
		b.WriteString(held + view.InLine(r.Held))
	}
	b.WriteString("\n")
}

// Copied says what came of a copy.
func Copied(w io.Writer, got *home.Copied) error {
	var b strings.Builder
	for _, x := range got.Failed {
		fmt.Fprintf(&b, "%s %s: %s\n", x.Agent.Short(), view.InLine(x.Name), view.InLine(x.Error))
	}
	if got.Agents == 0 {
		_, err := fmt.Fprintf(w, "nothing copied: no agent of %s matches\n", view.InLine(got.From))
		return err
	}
	fmt.Fprintf(&b, "%s of %s copied to %s, %s verified; %d were there already\n", view.Several(got.Copied, "agent"),
		view.InLine(got.From), view.InLine(got.To), view.Several(got.Entries, "entry"), got.Same)
	return term.Say(w, b.String())
}

// Arrived says what came of imports. Typed is a text in which commands are as they are typed here.
func Arrived(w io.Writer, all []*home.Arrived, typed func(string) string) error {
	var text strings.Builder
	for _, r := range all {
		head, more := r.Text()
		text.WriteString(head + "\n")
		for _, line := range more {
			text.WriteString(typed(line) + "\n")
		}
	}
	return term.Say(w, text.String())
}

// Exported says which capsules were written into a set.
func Exported(w io.Writer, found []home.SetMember) error {
	var b strings.Builder
	for _, m := range found {
		fmt.Fprintf(&b, "%s: depth %s, signatures %s\n", m.File, m.Depth, m.Binding)
	}
	return term.Say(w, b.String())
}

// Collected says what was dropped, or would be.
func Collected(w io.Writer, found []perdure.Collected, dry bool, name func(perdure.AgentID) string) error {
	dropped := "dropped"
	if dry {
		dropped = "would drop"
	}
	var b strings.Builder
	for _, g := range found {
		fmt.Fprintf(&b, "%s: %s %s, %s, by the %s\n", name(g.Agent), dropped, view.Several(g.Entries, "body"),
			view.Several(g.Bytes, "byte"), g.Rule)
	}
	if len(found) == 0 {
		b.WriteString("nothing to drop: no body has expired\n")
	}
	return term.Say(w, b.String())
}

// Examined prints what a doctor found.
func Examined(w io.Writer, found []home.Examined) error {
	s := term.StyleOf(w)
	tints := map[string]func(string) string{home.Well: s.Good, home.Odd: s.Warn, home.Unwell: s.Bad}
	var b strings.Builder
	for _, f := range found {
		health := fmt.Sprintf("%-5s", f.Health)
		line := term.Hang(fmt.Sprintf("%s  %-8s  %s", health, f.What, view.OneLine(f.Found, 0)),
			len("unwell           "), s.Width)
		b.WriteString(tinted(tints[f.Health], health) + strings.TrimPrefix(line, health) + "\n")
		if f.Fix != "" {
			b.WriteString("                 " + s.Dim("fix: "+view.InLine(f.Fix)) + "\n")
		}
	}
	return term.Say(w, b.String())
}

// Begun says what was made of a home.
func Begun(w io.Writer, h *home.Begun) error {
	var b strings.Builder
	row := func(label, text string) {
		b.WriteString(term.Wrapped(fmt.Sprintf("%-9s", label), text, term.WidthOf(w), term.StyleOf(w).Head))
	}
	row("home", h.Home)
	if len(h.Made) > 0 {
		row("made", strings.Join(h.Made, ", "))
	}
	if len(h.Kept) > 0 {
		row("kept", strings.Join(h.Kept, ", "))
	}
	advisor, file := h.Advisor, filepath.Join(h.Home, home.NodeFileName)
	switch {
	case advisor == "":
		advisor = "none: write advisor: anthropic:MODEL (or openai:MODEL, gemini:MODEL, script:FILE) into " + file
	case h.Because != "":
		advisor += ", because " + h.Because
	}
	row("advisor", advisor)
	if h.Script {
		row("", "This is a script, not a model. To use a model, write advisor: anthropic:MODEL (or openai:MODEL, "+
			"gemini:MODEL) into "+file+", and put its key in the environment")
	}
	return term.Say(w, b.String())
}

// Next says what to do with a home that was made; with the line that gives Claude Code its memory also how clients get
// that. Typed is a text in which commands are as they are typed here.
func Next(w io.Writer, h *home.Begun, claude string, typed func(string) string) error {
	text := ""
	if h.Advisor != "" { // else they would come to nothing
		text = typed("\nNow have an agent work:\n  perdure new \"say hello\"\n  perdure run say-hello\n" +
			"\nOr talk to one:\n  perdure chat\n")
	}
	if claude != "" {
		text += "\nMemory for coding agents, one of:\n  Claude Code  " + claude + "\n" +
			typed("  Cursor       perdure mcp --no-node --config cursor   (prints what goes into .cursor/mcp.json)\n"+
				"  VS Code      perdure mcp --no-node --config vscode   (prints what goes into .vscode/mcp.json)\n\n"+
				"Try it:\n  perdure doc write decisions/first.md \"We keep what matters.\"\n"+
				"  perdure search what matters\n")
	}
	_, err := io.WriteString(w, text)
	return err
}

// Sayings prints everything of a home that decides, but for the key: of that whose it is.
func Sayings(w io.Writer, all []home.Saying) error {
	for _, s := range all {
		text := s.Text
		if s.Name == home.KeyFile {
			text = []byte("a private key, which signs what is written here")
		}
		if _, err := fmt.Fprintf(w, "%s:\n", view.InLine(s.Name)); err != nil {
			return err
		}
		if err := term.WriteWhole(w, text); err != nil {
			return err
		}
	}
	return nil
}
