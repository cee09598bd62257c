package perdure

import (
	"strings"
	"testing"
)

// A model says what it cost once it has answered: a limit can be overrun. What is missing says by how much, and what is
// granted counts against it.
func TestALimitThatWasOverrunSaysByHowMuch(t *testing.T) {
	f := &Fold{Intent: Intent{Budget: &Budget{Tokens: new(int64(10))}}, Spent: Spend{Tokens: 15}}
	if what, used := f.Exhausted(); !used || what != "tokens: needs 1, 0 left, 5 over the limit" {
		t.Errorf("got %q, %v", what, used)
	}
	f.Granted.Tokens = 3
	if what, used := f.Exhausted(); !used || !strings.HasSuffix(what, "2 over the limit") || *f.Limit().Tokens != 13 {
		t.Errorf("got %q, %v, limit %d", what, used, *f.Limit().Tokens)
	}
	f.Granted.Tokens = 6
	if what, used := f.Exhausted(); used || *f.Left().Tokens != 1 || f.Left().Calls != nil {
		t.Errorf("got %q, %v, left %v", what, used, f.Left())
	}
	if name := f.Intent.Budget.unlimited(Spend{Tokens: 1, Calls: 1}); name != "calls" {
		t.Errorf("%q has no limit, want calls", name)
	}
}
