package main

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestHelpNamesEveryVariableOfConditions, so that none is known to the code alone.
func TestHelpNamesEveryVariableOfConditions(t *testing.T) {
	for _, name := range perdure.ConditionVariables() {
		if !strings.Contains(topics["conditions"], "\n  "+name+" ") {
			t.Errorf("perdure help conditions does not say what %s is", name)
		}
	}
}
