package perdure

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/keeper"
)

// mutate changes the intent. Bounds meet: whatever order mutations of several branches are folded in, the narrowest
// bound results, and one that asks for more gets none. The earlier intent stays in memory, where AgentAt finds it.
func (f *Fold) mutate(e *Entry, m *Mutate) {
	if f.Ended != nil {
		return
	}
	f.Edited = e.Name
	if m.Goal != nil {
		f.Intent.Goal = *m.Goal
	}
	f.relabel(m)
	if len(m.Inputs) > 0 {
		f.Intent.Inputs = m.Inputs
	}
	if m.Deadline != 0 {
		f.Intent.Deadline = earliest(f.Intent.Deadline, m.Deadline)
	}
	f.Intent.Budget = f.Intent.Budget.meet(m.Budget)
	f.Intent.Tools = meetTools(f.Intent.Tools, m.Tools)
	if !m.StateSchema.IsZero() {
		f.Intent.StateSchema = m.StateSchema
	}
	if m.Depth != nil {
		f.Charter.Depth = min(f.Charter.Depth, max(*m.Depth, 0))
	}
	if m.Scope != nil {
		f.narrowScope(e, *m.Scope)
	}
}

// relabel changes the kind and the labels, but for what says who the agent is: that is as genesis has it, whoever
// writes otherwise. No agent comes to keep documents, one that does keeps its kind and labels, and labels that say
// whose an agent is stay. Snapshots by earlier programs may have that changed, too: see matches.
func (f *Fold) relabel(m *Mutate) {
	was := labelled{f.Intent.Kind, f.Intent.Labels}
	if f.remade != nil || f.remakes(m) != nil {
		old := was
		if f.remade != nil {
			old = *f.remade
		}
		old.change(m)
		f.remade = &old
	}
	if now := *m; !keeper.Is(was.kind) {
		if m.Kind != nil && keeper.Is(*m.Kind) {
			now.Kind = nil
		}
		if !maps.Equal(keeper.Labels(m.Labels), keeper.Labels(was.labels)) {
			now.Labels = nil
		}
		was.change(&now)
		f.Intent.Kind, f.Intent.Labels = was.kind, was.labels
	}
}

// labelled is what an agent is known by besides its name.
type labelled struct {
	kind   string
	labels map[string]string
}

// change replaces what a mutation names.
func (l *labelled) change(m *Mutate) {
	if m.Kind != nil {
		l.kind = *m.Kind
	}
	if m.Labels != nil {
		l.labels = m.Labels
		if len(m.Labels) == 0 {
			l.labels = nil
		}
	}
}

// sensible refuses a goal and a deadline that no agent can be made with, and a scope that is none.
func (m *Mutate) sensible(now time.Time) error {
	if m.Goal != nil && strings.TrimSpace(*m.Goal) == "" {
		return errNoGoal
	}
	if m.Scope != nil {
		if err := CheckScope(*m.Scope); err != nil {
			return Invalid(err)
		}
	}
	return m.Deadline.ahead("deadline", now)
}

// empty reports whether a mutation changes nothing, whatever its note says.
func (m Mutate) empty() bool {
	m.Note = ""
	return reflect.ValueOf(m).IsZero()
}

// widens says what of a change asks for more than the agent has: of that nothing would come, since bounds only ever
// meet.
func (f *Fold) widens(m *Mutate) error {
	in := &f.Intent
	switch {
	case m.Deadline != 0 && in.Deadline != 0 && m.Deadline > in.Deadline:
		return fmt.Errorf("the deadline is %s and cannot be put off: fork the agent with a later one", in.Deadline)
	case !m.Budget.inside(in.Budget):
		return errors.New("a budget can be made smaller, never larger: its owner grants more")
	case m.Depth != nil && (*m.Depth < 0 || *m.Depth > f.Charter.Depth):
		return fmt.Errorf("it may delegate to %d generations; want that many or fewer, got %d", f.Charter.Depth,
			*m.Depth)
	case m.Scope != nil && !InScope(*m.Scope, f.Charter.Scope):
		return fmt.Errorf("its scope is %s; want one inside it, got %s", f.Charter.Scope, *m.Scope)
	}
	if in.Tools == nil {
		return nil
	}
	for _, tool := range m.Tools {
		if !slices.Contains(in.Tools, tool) {
			return fmt.Errorf("tool %s is not among its tools (%s): tools can be taken away, not added", tool,
				strings.Join(in.Tools, ", "))
		}
	}
	return nil
}

// remakes says what of a change would make an agent one that keeps documents, or would change what such an agent is:
// its kind and labels say whose notes it keeps and who sees them. Labels that say whose an agent is stay, too.
func (f *Fold) remakes(m *Mutate) error {
	is := f.Intent.Kind
	switch {
	case m.Kind != nil && *m.Kind != is && keeper.Is(*m.Kind):
		return fmt.Errorf("kind %s: such agents only keep documents, and no agent becomes one", *m.Kind)
	case keeper.Is(is) && (m.Kind != nil && *m.Kind != is ||
		m.Labels != nil && !maps.Equal(m.Labels, f.Intent.Labels)):
		return fmt.Errorf("it keeps documents as a %s: its kind and labels say who sees them, and stay", is)
	case m.Labels != nil && !maps.Equal(keeper.Labels(m.Labels), keeper.Labels(f.Intent.Labels)):
		return errors.New("its labels once and a2a-… say whose it is, and stay as they are")
	}
	return nil
}

// inside reports whether no limit that b names is above the one of o.
func (b *Budget) inside(o *Budget) bool {
	if b == nil || o == nil {
		return true
	}
	in := func(a, limit *int64) bool { return a == nil || limit == nil || *a <= *limit }
	return in(b.Cost, o.Cost) && in(b.Tokens, o.Tokens) && in(b.Calls, o.Calls)
}

// narrowScope makes the scope the narrower of two. Scopes that exclude each other leave none: the agent may act
// nowhere.
func (f *Fold) narrowScope(e *Entry, scope string) {
	switch {
	case InScope(scope, f.Charter.Scope):
		f.Charter.Scope = scope
	case InScope(f.Charter.Scope, scope):
	default:
		f.conflict(e, "scopes that exclude each other: nothing is in scope now")
		f.Charter.Scope = NoScope
	}
}

// meetTools is the tools in both lists; nil is all.
func meetTools(a, b []string) []string {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	in := make(map[string]struct{}, len(b))
	for _, t := range b {
		in[t] = struct{}{}
	}
	out := make([]string, 0, len(a))
	for _, t := range a {
		if _, ok := in[t]; ok {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}
