package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
)

// changed are the fields a mutation names.
func changed(m *perdure.Mutate) []string {
	var names []string
	for _, x := range []struct {
		name  string
		given bool
	}{
		{"goal", m.Goal != nil}, {"kind", m.Kind != nil}, {"inputs", m.Inputs != nil}, {"labels", m.Labels != nil},
		{"scope", m.Scope != nil},
		{"budget", m.Budget != nil}, {"deadline", m.Deadline != 0}, {"tools", m.Tools != nil},
		{"depth", m.Depth != nil},
	} {
		if x.given {
			names = append(names, x.name)
		}
	}
	return names
}

// changedTo are the fields a mutation names, each with what it becomes.
func changedTo(m *perdure.Mutate) []string {
	texts := changed(m)
	for i, name := range texts {
		texts[i] += " to " + map[string]func() string{
			"goal":     func() string { return Quoted(*m.Goal) },
			"kind":     func() string { return Quoted(*m.Kind) },
			"inputs":   func() string { return DataText(m.Inputs) },
			"labels":   func() string { return Quoted(m.Labels) },
			"scope":    func() string { return *m.Scope },
			"budget":   func() string { return budgetText(m.Budget) },
			"deadline": m.Deadline.String,
			"tools":    func() string { return Quoted(m.Tools) },
			"depth":    func() string { return fmt.Sprint(*m.Depth) },
		}[name]()
	}
	return texts
}

// budgetText is a limit for people.
func budgetText(b *perdure.Budget) string {
	var parts []string
	if b.Cost != nil {
		parts = append(parts, dollars(*b.Cost))
	}
	if b.Tokens != nil {
		parts = append(parts, Several(*b.Tokens, "token"))
	}
	if b.Calls != nil {
		parts = append(parts, Several(*b.Calls, "call"))
	}
	if len(parts) == 0 {
		return "no limit"
	}
	return strings.Join(parts, " and ")
}

// microdollars are the units money is counted in.
const microdollars = 1_000_000

// dollars writes an amount for people.
func dollars(n int64) string {
	s := fmt.Sprintf("%d.%06d", n/microdollars, n%microdollars)
	return "$" + s[:len(s)-4] + strings.TrimRight(s[len(s)-4:], "0")
}

func toolName(a perdure.Action) string {
	x, _ := a.(perdure.Execute)
	return x.Tool
}

// ActionText says what an action would do.
func ActionText(a perdure.Action) string {
	switch a := a.(type) {
	case perdure.Execute:
		if a.Args == nil {
			return a.Tool
		}
		return a.Tool + " " + DataText(a.Args)
	case perdure.Mutate:
		return strings.TrimSpace("mutate "+strings.Join(changedTo(&a), ", ")) + Noted(a.Note)
	case perdure.Delegate:
		return "delegate: " + a.Intent.Goal
	case perdure.Sleep:
		return "sleep " + triggerText(a.Trigger) + Noted(a.Note)
	case perdure.Wake:
		return "wake" + Noted(a.Note)
	case perdure.End:
		return "end " + a.Signal.String() + Noted(a.Note)
	}
	return "an action that is not known here"
}

// plainly are conditions that the runtime itself sets, in words.
var plainly = map[string]string{
	toldAnything: "it is told something",
	"(!has(left.cost) || left.cost > 0) && (!has(left.tokens) || left.tokens > 0)": "more is granted",
	"(!has(left.cost) || left.cost > 0) && (!has(left.tokens) || left.tokens > 0) && " +
		"(!has(left.calls) || left.calls > 0 || size(inbox) > 0)": "more is granted, or it is told something",
}

// conditionText is a condition for people: one that an advisor set as it stands, one of the runtime in words.
func conditionText(condition string) string { return cmp.Or(plainly[condition], condition) }

// triggerText says what wakes.
func triggerText(t perdure.Trigger) string {
	join := func(of []perdure.Trigger, word string) string {
		var parts []string
		for _, t := range of {
			parts = append(parts, triggerText(t))
		}
		return strings.Join(parts, word)
	}
	switch t := t.(type) {
	case perdure.At:
		return "until " + t.Time.String()
	case perdure.After:
		return "for " + (time.Duration(t.Millis) * time.Millisecond).String()
	case perdure.On:
		if t.Event == keeper.Never {
			return "for good"
		}
		if t.Filter != "" {
			return "until event " + t.Event + " where " + t.Filter
		}
		return "until event " + t.Event
	case perdure.Done:
		if !t.Child.IsZero() {
			return "until child " + t.Child.Short() + " has ended"
		}
		return "until decision " + t.Decision.Short() + " has its outcome"
	case perdure.Gather:
		return gatherText(t)
	case perdure.When:
		return "until " + conditionText(t.Condition)
	case perdure.Every:
		return "asking " + t.Poll.Tool + " every " + (time.Duration(t.Millis) * time.Millisecond).String() + " until " +
			t.Until
	case perdure.Any:
		return join(t.Of, " or ")
	case perdure.All:
		return join(t.Of, " and ")
	}
	return "until something not known here"
}

func DataText(d perdure.Data) string {
	if d == nil {
		return ""
	}
	return string(d.JSON())
}

// spendText is an amount for people.
func spendText(s perdure.Spend) string {
	var parts []string
	if s.Cost != 0 {
		parts = append(parts, dollars(s.Cost))
	}
	if s.Tokens != 0 {
		parts = append(parts, Several(s.Tokens, "token"))
	}
	if s.Calls != 0 {
		parts = append(parts, Several(s.Calls, "call"))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// gatherText says which children are waited for.
func gatherText(g perdure.Gather) string {
	of := "its children"
	if len(g.Of) > 0 {
		of = fmt.Sprintf("%d children", len(g.Of))
	}
	switch {
	case g.OK > 0:
		return fmt.Sprintf("until %d of %s have ended ok", g.OK, of)
	case g.Failed > 0:
		return fmt.Sprintf("until %d of %s have ended otherwise than ok", g.Failed, of)
	}
	return "until all of " + of + " have ended"
}
