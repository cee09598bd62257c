package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Row is an action as a person must see it who answers for it: all of it, in lines. No line can pass for one of the
// program's own, since what comes from the agent stands behind a mark or in the quotes of JSON.
type Row struct {
	Label string
	Text  []string
}

const (
	// maxFlat is how long nested data may be to stand on one line.
	maxFlat = 80
)

// actionLines is what an action would do, whole: its arguments one by one, text of several lines as lines.
func actionLines(a perdure.Action) []string {
	x, is := a.(perdure.Execute)
	if !is {
		fields, _ := Readable(struct{ Action perdure.Action }{a}).(object)
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
		if !PlainWord(name) {
			name = Quoted(name)
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
			lines = append(lines, "| "+InLine(strings.ReplaceAll(one, "\t", "→   ")))
		}
		return lines
	}
	flat := Quoted(v)
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

// Sheet is what a person is asked about, whole.
func (w *Wait) Sheet(now time.Time) []Row {
	if w.Given != nil {
		return w.Given
	}
	var rows []Row
	if w.Action != nil {
		lines := actionLines(w.shown())
		for i := range lines {
			lines[i] = "| " + lines[i] // an argument called effect is not the effect
		}
		rows = append(rows, Row{"", lines})
	} else if text := strings.TrimSpace(w.What); strings.Contains(text, "\n") {
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, "| "+InLine(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "→   ")))
		}
		rows = append(rows, Row{"", lines})
	}
	add := func(label, text string) {
		if text != "" {
			rows = append(rows, Row{label, []string{text}})
		}
	}
	add("", w.again())
	add("", w.Circumstances(now))
	if w.Effect != 0 {
		add("effect", w.Effect.String())
	}
	if w.Reserve != nil && *w.Reserve != (perdure.Spend{}) {
		add("budget", spendText(*w.Reserve)+" set aside until its outcome is known")
	}
	rule := strings.Join(w.Rules, ", ")
	if !w.Policy.IsZero() {
		rule = strings.TrimSpace(rule + " of policy " + w.Policy.String())
	}
	add("rule", InLine(rule))
	if !w.Decision.IsZero() {
		add("decision", w.Decision.String())
	}
	if !w.Digest.IsZero() {
		add("digest", w.Digest.String())
	}
	return rows
}

// Brief is what a person is asked about, in few lines: the action whole, why and whom policy asks, and in one line what
// names it. Sheet has the rest.
func (w *Wait) Brief(now time.Time) []Row {
	var rows []Row
	for _, r := range w.Sheet(now) {
		if r.Label == "" {
			rows = append(rows, r)
		}
	}
	var parts []string
	switch {
	case !w.Digest.IsZero():
		parts = append(parts, "digest "+w.Digest.Short())
	case !w.Decision.IsZero():
		parts = append(parts, "decision "+w.Decision.Short())
	}
	if len(w.Rules) > 0 {
		parts = append(parts, "by "+phrase(strings.Join(w.Rules, ", ")))
	}
	if w.Effect != 0 {
		parts = append(parts, w.Effect.String())
	}
	return append(rows, Row{"", []string{strings.Join(append(parts, "? shows all"), "; ")}})
}

// Describe adds what only the decision that asked says: the class of the effect and what is reserved for it.
func (w *Wait) Describe(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	one := []Wait{*w}
	err := DescribeAll(ctx, s, a, one)
	*w = one[0]
	return err
}

// DescribeAll is describe of several of one agent, in at most two passes over its memory.
func DescribeAll(ctx context.Context, s perdure.Store, a *perdure.Agent, waits []Wait) error {
	wanted := described{by: map[perdure.Hash][]*Wait{}, proposed: map[perdure.Hash][]proposed{}, open: a.Fold().Open}
	for i := range waits {
		if w := &waits[i]; !w.Decision.IsZero() && w.Effect == 0 {
			wanted.by[w.Decision] = append(wanted.by[w.Decision], w)
		}
	}
	for e := range a.Recent() {
		wanted.take(e)
	}
	for range 2 { // parents come before children: advice passes before the decision about it is found
		if err := wanted.find(perdure.Backwards(ctx, s, a.ID(), nil)); err != nil {
			return err
		}
	}
	return nil
}

// described is what is wanted to describe waits, as a memory is read from its end.
type described struct {
	by       map[perdure.Hash][]*Wait    // by decision
	proposed map[perdure.Hash][]proposed // by advice: a decision need not say what it is about
	open     []perdure.Open              // of the agent: of nothing else a part of the budget is set aside
}

// proposed is a wait whose action is that of an advice, at a place.
type proposed struct {
	wait  *Wait
	index int64
}

// find looks for what is wanted in a memory.
func (d *described) find(memory iter.Seq2[*perdure.Entry, error]) error {
	if len(d.by)+len(d.proposed) == 0 {
		return nil
	}
	for e, err := range memory {
		if err != nil {
			return err
		}
		if d.take(e); len(d.by) == 0 && len(d.proposed) == 0 {
			return nil
		}
	}
	return nil
}

// askedBy has people told whose word it is why they are asked, unless that is somebody trusted here to own the agent:
// whoever may write its decisions can put down any reason, rule and class, and the policy here may ask for other ones.
func (w *Wait) askedBy(k perdure.Key) {
	if w.trust == nil || w.trust.Allows(k, perdure.MayOwn, w.fold.Charter.Scope) {
		return
	}
	who := VoicesIn(w.fold, w.trust)(k, new(perdure.Event))
	if name := w.trust.Names()[k]; name != "" {
		who = name + " (" + k.Short() + ")"
	}
	said := "asked by " + who + ", whose word the rule and the class are"
	if w.Why != "" {
		said += ", and this: " + w.Why
	}
	w.Why, w.trust = said, nil // once
}

func (d *described) take(e *perdure.Entry) {
	switch b := e.Content().(type) {
	case perdure.Decision:
		for _, w := range d.by[e.Name] {
			open := func(o perdure.Open) bool { return o.Decision == e.Name }
			if w.Effect = b.Effect; w.Kind != WaitDoubled || slices.ContainsFunc(d.open, open) {
				w.Reserve = b.Reserve
			}
			w.askedBy(e.Origin)
			if b.Action == nil && w.Action == nil {
				d.proposed[b.Advice] = append(d.proposed[b.Advice], proposed{w, b.Index})
			} else {
				w.about(b.Action)
			}
		}
		delete(d.by, e.Name)
	case perdure.Advice:
		for _, p := range d.proposed[e.Name] {
			if p.index >= 0 && p.index < int64(len(b.Actions)) {
				p.wait.about(b.Actions[p.index])
			}
		}
		delete(d.proposed, e.Name)
	}
}

// about says which action a wait is about, unless it does.
func (w *Wait) about(a perdure.Action) {
	if a == nil || w.Action != nil {
		return
	}
	w.Action, w.Tool = a, toolName(a)
	if w.Kind == WaitDoubled {
		w.What += ": " + ActionText(a)
	}
}

// Head is what is asked, without the arguments.
func (w *Wait) Head() string {
	if w.GivenHead != "" {
		return w.GivenHead
	}
	x, is := w.Action.(perdure.Execute)
	switch {
	case w.Action == nil && strings.Contains(strings.TrimSpace(w.What), "\n"):
		return fmt.Sprintf("%d lines", strings.Count(strings.TrimSpace(w.What), "\n")+1)
	case w.Action == nil:
		return w.What
	case is && PlainWord(x.Tool):
		return w.Asking() + x.Tool
	case is:
		return w.Asking() + Quoted(x.Tool)
	}
	return w.Asking() + kindOf(w.Action)
}

// maxSubject is how much of a subject a prompt has room for.
const maxSubject = 60

// Subject is what is asked about, and of which agent, for a prompt: the rest may be a long way above it.
func (w *Wait) Subject() string {
	what, whose := strings.TrimPrefix(w.Head(), w.Asking()), ShownName(cmp.Or(w.Name, w.Agent.Short()))
	return OneLine(what+" of "+whose, maxSubject)
}

// Asking is what a person is asked about an action.
func (w *Wait) Asking() string {
	switch w.Kind {
	case WaitDoubt:
		return "did it happen? "
	case WaitDoubled:
		return Twice + ": "
	}
	return "may it? "
}

// kindOf is the kind of an action, as the format calls it.
func kindOf(a perdure.Action) string {
	kind, _, _ := strings.Cut(ActionText(a), " ")
	return strings.TrimSuffix(kind, ":")
}
