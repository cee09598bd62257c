package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/internal/condition"
)

// TestHelpNamesEveryVariableOfConditions that the code declares, and no other.
func TestHelpNamesEveryVariableOfConditions(t *testing.T) {
	triggers, scripts, ok := strings.Cut(topicText("conditions"), "Conditions in scripts")
	if !ok {
		t.Fatal("perdure help conditions says nothing of scripts")
	}
	var known []string
	for _, v := range slices.Concat(condition.FoldVars, condition.EventVars, condition.PollVars) {
		known = append(known, v.Name)
	}
	for _, c := range []struct {
		of, text string
		want     []string
	}{{"triggers", triggers, known}, {"scripts", scripts, script.ConditionVariables()}} {
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(c.text, -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("of %s perdure help conditions names %q, and the code declares %q", c.of, got, c.want)
		}
	}
}
