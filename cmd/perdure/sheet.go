package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// sheet is an action as a person must see it who answers for it: all of it, in lines. No line can pass for one of the
// program's own, since what comes from the agent stands behind a mark or in the quotes of JSON.
type sheet struct {
	label string
	text  []string
}

const (
	// maxFlat is how long nested data may be to stand on one line.
	maxFlat = 80
)

// actionLines is what an action would do, whole: its arguments one by one, text of several lines as lines.
func actionLines(a perdure.Action) []string {
	x, is := a.(perdure.Execute)
	if !is {
		fields, _ := readable(struct{ Action perdure.Action }{a}).(object)
		if inner, ok := fields.get("action").(object); ok && len(inner) == 1 {
			if of, ok := inner[0].value.(object); ok {
				return fieldLines(of)
			}
		}
		return nil
	}
	var lines []string
	if x.Args != nil {
		switch v := x.Args.Value().(type) {
		case map[string]any:
			var o object
			for _, name := range slices.Sorted(maps.Keys(v)) {
				o = append(o, field{name, v[name]})
			}
			lines = fieldLines(o)
		default:
			lines = valueLines("argument", v)
		}
	}
	if x.Deadline > 0 {
		lines = append(lines, "(it may take "+(time.Duration(x.Deadline)*time.Millisecond).String()+")")
	}
	return lines
}

func fieldLines(o object) (lines []string) {
	for _, f := range o {
		name := f.name
		if !plainWord(name) {
			name = quoted(name)
		}
		lines = append(lines, valueLines(name, f.value)...)
	}
	return lines
}

// valueLines is one value by name: on the same line if it fits there, else below it, each line behind a mark. A tab is
// shown as an arrow.
func valueLines(name string, v any) []string {
	if text, is := v.(string); is && strings.Contains(strings.TrimSuffix(text, "\n"), "\n") {
		of := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		how := fmt.Sprintf("%s: %d lines, %d bytes", name, len(of), len(text))
		if !strings.HasSuffix(text, "\n") {
			how += ", the last without a line end"
		}
		lines := []string{how}
		for _, one := range of {
			lines = append(lines, "| "+inLine(strings.ReplaceAll(one, "\t", "→   ")))
		}
		return lines
	}
	flat := quoted(v)
	switch v.(type) {
	case map[string]any, []any, object:
		if len(flat) > maxFlat {
			var b bytes.Buffer
			if json.Indent(&b, []byte(flat), "| ", "  ") == nil {
				return append([]string{name + ":"}, strings.Split("| "+b.String(), "\n")...)
			}
		}
	}
	return []string{name + ": " + flat}
}

// quoted is a value as JSON in which everything hidden is escaped.
func quoted(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return inLine(err.Error())
	}
	return string(escapeJSON(bytes.TrimSpace(b.Bytes())))
}

// sheet is what a person is asked about, whole.
func (w *waiting) sheet(now time.Time) []sheet {
	var rows []sheet
	if w.Action != nil {
		lines := actionLines(w.Action)
		for i := range lines {
			lines[i] = "| " + lines[i] // an argument called effect is not the effect
		}
		rows = append(rows, sheet{"", lines})
	} else if text := strings.TrimSpace(w.What); strings.Contains(text, "\n") {
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, "| "+inLine(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "→   ")))
		}
		rows = append(rows, sheet{"", lines})
	}
	add := func(label, text string) {
		if text != "" {
			rows = append(rows, sheet{label, []string{text}})
		}
	}
	add("", w.circumstances(now))
	if w.Effect != 0 {
		add("effect", w.Effect.String())
	}
	if w.Reserve != nil && *w.Reserve != (perdure.Spend{}) {
		add("reserve", spendText(*w.Reserve))
	}
	rule := strings.Join(w.Rules, ", ")
	if !w.Policy.IsZero() {
		rule = strings.TrimSpace(rule + " of policy " + w.Policy.String())
	}
	add("rule", inLine(rule))
	if !w.Decision.IsZero() {
		add("decision", w.Decision.String())
	}
	if !w.Digest.IsZero() {
		add("digest", w.Digest.String())
	}
	return rows
}

// describe adds what only the decision that asked says: the class of the effect and what is reserved for it.
func (w *waiting) describe(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	one := []waiting{*w}
	err := describeAll(ctx, s, a, one)
	*w = one[0]
	return err
}

// describeAll is describe of several of one agent, in one pass over its memory.
func describeAll(ctx context.Context, s perdure.Store, a *perdure.Agent, waits []waiting) error {
	wanted := map[perdure.Hash]*waiting{}
	for i := range waits {
		if w := &waits[i]; !w.Decision.IsZero() && w.Effect == 0 {
			wanted[w.Decision] = w
		}
	}
	take := func(e *perdure.Entry) {
		if w := wanted[e.Name]; w != nil {
			d, _ := e.Content().(perdure.Decision)
			w.Effect, w.Reserve = d.Effect, d.Reserve
			delete(wanted, e.Name)
		}
	}
	for e := range a.Recent() {
		take(e)
	}
	if len(wanted) == 0 {
		return nil
	}
	for e, err := range perdure.Memory(ctx, s, a.ID()) {
		if err != nil {
			return err
		}
		if take(e); len(wanted) == 0 {
			return nil
		}
	}
	return nil
}

// writeSheet prints, whole, what a person answers for.
func (w *waiting) writeSheet(to io.Writer, now time.Time) error {
	s, width := styleOf(to), widthOf(to)
	var b strings.Builder
	row := func(label, text string) { b.WriteString(wrapped(fmt.Sprintf("%-10s", label), text, width, s.head)) }
	row("agent", strings.TrimSpace(shownName(w.Name)+" "+w.Agent.String()))
	row(cmp.Or(w.Kind, "action"), inLine(w.head()))
	for _, r := range w.sheet(now) {
		for i, text := range r.text {
			label := r.label
			if i > 0 {
				label = ""
			}
			row(label, text)
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// head is what is asked, without the arguments.
func (w *waiting) head() string {
	x, is := w.Action.(perdure.Execute)
	switch {
	case w.Action == nil && strings.Contains(strings.TrimSpace(w.What), "\n"):
		return fmt.Sprintf("%d lines:", strings.Count(strings.TrimSpace(w.What), "\n")+1)
	case w.Action == nil:
		return w.What
	case is && plainWord(x.Tool):
		return w.asking() + x.Tool
	case is:
		return w.asking() + quoted(x.Tool)
	}
	return w.asking() + kindOf(w.Action)
}

// asking is what a person is asked about an action.
func (w *waiting) asking() string {
	if w.Kind == waitsDoubt {
		return "did it happen? "
	}
	return "may it? "
}

// kindOf is the kind of an action, as the format calls it.
func kindOf(a perdure.Action) string {
	kind, _, _ := strings.Cut(actionText(a), " ")
	return strings.TrimSuffix(kind, ":")
}

// wrapped is a line with a label, broken to a width; what goes on is marked and begins under the text. A width of zero
// breaks nothing.
func wrapped(label, text string, width int, tint func(string) string) string {
	indent := utf8.RuneCountInString(label)
	if strings.TrimSpace(label) != "" {
		label = tint(label)
	} else if text == "" {
		return ""
	}
	return folded(label, indent, text, width)
}

// folded is text behind a head that takes so many columns, broken to a width.
func folded(head string, indent int, text string, width int) string {
	room := width - indent
	if width < minRoom || columns(text) <= room {
		return strings.TrimRight(head+text, " ") + "\n"
	}
	var b strings.Builder
	mark := ""
	if room < minRoom { // the text begins below its head
		b.WriteString(strings.TrimRight(head, " ") + "\n")
		head, indent, room, mark = "    ", 4, width-4, "> "
	}
	for text != "" {
		var part string
		part, text = breakAt(text, room-len(mark))
		b.WriteString(head + mark + part + "\n")
		head, mark = strings.Repeat(" ", indent), "> "
	}
	return b.String()
}

// minRoom is the least room that text is broken into. A terminal that is narrower breaks it itself.
const minRoom = 16

// breakAt parts text where it fills a width; at least one rune goes first.
func breakAt(text string, width int) (head, rest string) {
	used := 0
	for i, r := range text {
		w := runeColumns(r)
		if i > 0 && used+w > width {
			return text[:i], text[i:]
		}
		used += w
	}
	return text, ""
}

func columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is how many columns a rune may take: two, to be sure, for scripts and signs that are wide.
func runeColumns(r rune) int {
	if r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f000) {
		return 2
	}
	return 1
}
