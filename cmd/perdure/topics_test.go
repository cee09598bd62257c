package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
)

// TestHelpNamesEveryVariableOfConditions that the code declares, and no other.
func TestHelpNamesEveryVariableOfConditions(t *testing.T) {
	triggers, scripts, ok := strings.Cut(topicText("conditions"), "Conditions in scripts")
	if !ok {
		t.Fatal("perdure help conditions says nothing of scripts")
	}
	for _, c := range []struct {
		of, text string
		want     []string
	}{{"triggers", triggers, perdure.ConditionVariables()}, {"scripts", scripts, script.ConditionVariables()}} {
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
