package home_test

import (
	"maps"
	"testing"

	"github.com/perdure/perdure/home"
)

func TestAnIntentIsOverridden(t *testing.T) {
	t.Parallel()
	f := home.IntentFile{Goal: "one", Name: "a", Depth: 2, Tools: []string{"x"},
		Labels: map[string]string{"k": "1", "l": "2"},
		Inputs: map[string]any{"city": "Bern", "days": 2}}
	tokens := int64(0)
	by := &home.IntentFile{Name: "b", Tools: []string{}, Labels: map[string]string{"k": "3"},
		Inputs: map[string]any{"city": "Oslo"},
		Budget: home.BudgetFile{Tokens: &tokens}}
	if err := f.Override(by); err != nil {
		t.Fatal(err)
	}
	inputs := f.Inputs.(map[string]any)
	if f.Goal != "one" || f.Name != "b" || f.Depth != 2 || len(f.Tools) != 0 || f.Budget.Tokens == nil ||
		inputs["city"] != "Oslo" || inputs["days"] != 2 || !maps.Equal(f.Labels,
		map[string]string{"k": "3", "l": "2"}) {
		t.Errorf("got %+v", f)
	}
	if err := f.Override(&home.IntentFile{Labels: map[string]string{"": "x"}}); err == nil {
		t.Error("a label without a name")
	}
	plain := home.IntentFile{Inputs: "text"}
	if err := plain.Override(&home.IntentFile{Inputs: map[string]any{"a": 1}}); err == nil {
		t.Error("a name among inputs that have none")
	}
	got := home.Relabelled(map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "", "c": "3"})
	if !maps.Equal(got, map[string]string{"b": "2", "c": "3"}) || home.Relabelled(got, nil) != nil {
		t.Errorf("labels are %v", got)
	}
}
