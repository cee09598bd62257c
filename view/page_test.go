package view

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// An agent with thousands of heads is read on one screen.
func TestAPageOfAWideAgentFitsAScreen(t *testing.T) {
	s := &Summary{Heads: make([]perdure.Hash, 4000), Diverged: make([]string, 4000)}
	rows, said := s.Page(time.Now(), false), false
	for _, r := range rows {
		said = said || strings.Contains(r.Text, "of 4000 heads and 4000 divergences only the first 12 are shown")
	}
	if len(rows) > 60 || !said {
		t.Errorf("%d rows, and what is left out is said: %v", len(rows), said)
	}
}
