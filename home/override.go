package home

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/view"
)

// Override puts what another intent says in the place of what this one says: each field that is set there. Labels and
// inputs are added one by one. A depth of zero says nothing.
func (f *IntentFile) Override(by *IntentFile) error {
	for _, s := range []struct{ to, by *string }{
		{&f.Name, &by.Name}, {&f.Goal, &by.Goal}, {&f.Kind, &by.Kind}, {&f.Advisor, &by.Advisor}, {&f.Scope, &by.Scope},
		{&f.Deadline, &by.Deadline}, {&f.Budget.Cost, &by.Budget.Cost}, {&f.TTL, &by.TTL},
	} {
		if *s.by != "" {
			*s.to = *s.by
		}
	}
	if by.Budget.Tokens != nil {
		f.Budget.Tokens = by.Budget.Tokens
	}
	if by.Budget.Calls != nil {
		f.Budget.Calls = by.Budget.Calls
	}
	if by.Depth != 0 {
		f.Depth = by.Depth
	}
	if by.Tools != nil {
		f.Tools = by.Tools
	}
	if by.Approvers != nil {
		f.Approvers = by.Approvers
	}
	for name, value := range by.Labels {
		if name == "" {
			return fmt.Errorf("label =%s has no name; write name=value", value)
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[name] = value
	}
	return f.addInputs(by.Inputs)
}

// addInputs adds inputs by name, or takes the place of those that have no names.
func (f *IntentFile) addInputs(more any) error {
	added, named := more.(map[string]any)
	here, both := f.Inputs.(map[string]any)
	switch {
	case more == nil:
	case !named || f.Inputs == nil:
		f.Inputs = more
	case !both:
		return errors.New("the inputs of the intent have no names, so that none can be added to them")
	default:
		all := maps.Clone(here)
		maps.Copy(all, added)
		f.Inputs = all
	}
	return nil
}

// Relabelled is labels with changes, of which an empty one removes a label: a mutation names them all. Nothing to
// change is nil.
func Relabelled(now, changes map[string]string) map[string]string {
	if changes == nil {
		return nil
	}
	out := maps.Clone(now)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

// Assignments reads values of a state, each NAME=JSON; null removes one. None is nil.
func Assignments(of []string) (map[string]perdure.Data, error) {
	if len(of) == 0 {
		return nil, nil
	}
	set := map[string]perdure.Data{}
	for _, s := range of {
		name, text, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%s: write name=JSON", s)
		}
		d, err := perdure.DataFromJSON([]byte(text))
		if err != nil {
			return nil, NotJSON("--set "+name, err)
		}
		set[name] = d
	}
	return set, nil
}

// maxShownPath is how much of a path into a value is shown.
const maxShownPath = 60

// NotJSON says where a text that a person typed is not JSON that can be kept, and how text is written.
func NotJSON(what string, err error) error {
	var r *perdure.Rejection
	if !errors.As(err, &r) {
		return fmt.Errorf("%s: %w", what, err)
	}
	if r.Predicate != canon.PredTextJSON {
		path, want, hint := view.OneLine(r.Path, maxShownPath), r.Want, r.Hint
		if r.Predicate == canon.PredDepth {
			want, hint = fmt.Sprintf("at most %d levels", canon.DefaultDepth), "flatten the value"
		}
		return perdure.WithHint(fmt.Errorf("%s cannot be kept: got %s at %s, want %s", what, r.Got, path, want), hint)
	}
	if r.Got == "the end" && r.Offset == 0 {
		return perdure.WithHint(fmt.Errorf("%s is empty", what), `write JSON, such as {"name":"value"}`)
	}
	return perdure.WithHint(fmt.Errorf("%s is not JSON: got %s at byte %d", what, r.Got, r.Offset+1),
		`put text in quotes, as JSON has it: '"like this"'`)
}
