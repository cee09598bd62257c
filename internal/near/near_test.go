package near_test

import (
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/near"
)

func TestWords(t *testing.T) {
	t.Parallel()
	of := []string{"budget-calls", "budget-cost", "show", "store", "json"}
	for typed, want := range map[string][]string{
		"budget-cals": {"budget-calls"}, "sohw": {"show"}, "STORE": {"store"},
		"budget": {"budget-calls", "budget-cost"},
		"x":      nil, "tell": nil, "jso": {"json"},
	} {
		if got := near.Words(typed, of); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", typed, got, want)
		}
	}
}
