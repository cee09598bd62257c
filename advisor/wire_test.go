package advisor

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

func TestPricesAreOfTheLongestNameThatFits(t *testing.T) {
	p, err := LoadPrices(
		[]byte(`{"m": {"in": 1, "out": 2, "cached": 0.5}, "m-big": {"in": 10, "out": 20, "cached": 1, "written": 12.5, "over": 1000, "long": {"in": 100, "out": 200, "cached": 10}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model string
		t     Tokens
		want  int64
	}{
		{"m-small", Tokens{In: 100, Out: 10, Cached: 40}, 60 + 20 + 20},
		{"vendor/m-big-2027", Tokens{In: 100, Out: 10, Cached: 40, Written: 20}, 400 + 40 + 250 + 200},
		{"m-big", Tokens{In: 1001, Out: 1}, 100100 + 200},
		{"other", Tokens{In: 5}, 0},
	} {
		price, _ := p.Of(c.model)
		if got := price.cost(c.t); got != c.want {
			t.Errorf("%+v of %s cost %d, want %d", c.t, c.model, got, c.want)
		}
	}
	if _, err := LoadPrices([]byte(`{"m": {"in": -1}}`)); err == nil {
		t.Error("a negative price is accepted")
	}
	if _, err := LoadPrices([]byte(`{"m": {"inn": 1}}`)); err == nil {
		t.Error("an unknown field is accepted")
	}
	if len(DefaultPrices()) == 0 {
		t.Error("there are no prices")
	}
	l := &LLM{Model: &thinker{}, Prices: Prices{"test-m": {In: 7}}}
	if got := l.usage([]Tokens{{In: 3}}).Cost; got != 21 {
		t.Errorf("with prices of one's own it costs %d, want 21", got)
	}
}

func TestToolsHaveNamesTheWireAllows(t *testing.T) {
	n := newWireNames([]perdure.Spec{{Name: "files.read"}, {Name: "files/read"}, {Name: "files_read"},
		{Name: strings.Repeat("x", 100)}})
	got := map[string]string{}
	for w, tool := range n.tool {
		if len(w) > 64 || plainName(w) != w && len(w) <= longestName {
			t.Errorf("%q is not a name for the wire", w)
		}
		got[tool] = w
	}
	if len(got) != 4 {
		t.Errorf("names are %v, want four", got)
	}
	for tool, w := range got {
		if n.toWire(tool) != w {
			t.Errorf("%s is %s one way and %s the other", tool, w, n.toWire(tool))
		}
	}
}

func TestBuiltinCallsReadBackAsTheyWereMade(t *testing.T) {
	for _, c := range []struct{ name, args string }{
		{"wait", `{"seconds":90}`},
		{"wait", `{"seconds":0.5,"until":"2027-01-31T09:00:00Z","event":"paid","note":"for the money"}`},
		{"ask", `{"question":"may I?"}`},
		{"ask", `{"question":"may I?","seconds":60}`},
		{"wait", `{"children":"all"}`},
		{"wait", `{"children":"quorum:2","seconds":90,"note":"for two of them"}`},
		{"wait", `{"children":"first-failure"}`},
		{"wait", `{"children":"any","of":["` + strings.Repeat("ab", 32) + `"]}`},
		{"delegate", `{"goal":"count","name":"counter","inputs":{"n":3},"tools":["a","b"]}`},
		{"delegate", `{"goal":"count","budget":{"cost":5,"tokens":10,"calls":2},"scope":"acme/part","until":"2027-01-31T09:00:00Z","depth":1,"advisor":"cheap"}`},
		{"finish", `{"result":{"n":[1,2]},"note":"done"}`},
		{"finish", `{"success":false,"note":"cannot"}`},
	} {
		act, err := builtinAction(c.name, "id", c.args)
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.args, err)
			continue
		}
		if name, args := builtinCall(act); name != c.name || args != c.args || perdure.CallOf(act) != "id" {
			t.Errorf("%s %s reads back as %s %s", c.name, c.args, name, args)
		}
	}
	for _, c := range []struct{ name, args string }{
		{"wait", `{}`}, {"wait", `{"seconds":-1}`}, {"wait", `{"until":"tomorrow"}`}, {"wait", `[]`},
		{"wait", `{"seconds":1} {}`},
		{"wait", `{"children":"most"}`}, {"wait", `{"children":"quorum:0"}`}, {"wait", `{"of":["x"]}`},
		{"wait", `{"children":"any","of":["x"]}`},
		{"delegate", `{"goal":"x","budget":{"cost":-1}}`}, {"delegate", `{"goal":"x","scope":"/../"}`},
		{"delegate", `{"goal":"x","depth":-1}`}, {"delegate", `{"goal":"x","until":"soon"}`},
		{"ask", `{}`}, {"delegate", `{"goal":""}`}, {"delegate", `{"goal":"x","inputs":{"a":1,"a":2}}`},
		{"finish", `{"result":`}, {"finish", `{"why":1}`},
	} {
		if act, err := builtinAction(c.name, "id", c.args); err == nil {
			t.Errorf("%s %s is accepted: %+v", c.name, c.args, act)
		}
	}
}
