package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
)

// dataJSON is JSON as Data.
func dataJSON(t testing.TB, text string) perdure.Data {
	t.Helper()
	d, err := perdure.DataFromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// choosy is a tool that takes only arguments it likes.
type choosy struct {
	tool
	check func(args perdure.Data) error
}

func (c *choosy) CheckArgs(args perdure.Data) error { return c.check(args) }

// judged runs an agent that proposes one call, and returns its decision on it, how often policy was asked about it, and
// how often the tool was called.
func judged(t *testing.T, tl perdure.Tool, args perdure.Data) (v perdure.Verdict, asked, called int) {
	t.Helper()
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: tl.Spec().Name, Args: args}}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}), &counted{Tool: tl, n: &called})
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if _, ok := r.Action.(perdure.Execute); ok {
			asked++
		}
		return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
	})
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	for e, err := range store.Entries(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Content().(perdure.Decision); ok && !d.Advice.IsZero() {
			return d.Verdict, asked, called
		}
	}
	t.Fatal("there is no decision")
	return v, asked, called
}

// counted counts calls, and hides nothing of the tool.
type counted struct {
	perdure.Tool
	n *int
}

func (c *counted) Call(ctx context.Context, call perdure.Call) (perdure.Result, error) {
	*c.n++
	return c.Tool.Call(ctx, call)
}

func (c *counted) CheckArgs(args perdure.Data) error {
	if checker, ok := c.Tool.(perdure.ArgumentChecker); ok {
		return checker.CheckArgs(args)
	}
	return nil
}

func TestArgumentsAToolDoesNotTakeAreDeniedBeforePolicyIsAsked(t *testing.T) {
	ok := func(context.Context, perdure.Call) (perdure.Result, error) { return perdure.Result{}, nil }
	for name, check := range map[string]func(perdure.Data) error{
		"refuses": func(perdure.Data) error { return errors.New("field path: want a") },
		"panics":  func(perdure.Data) error { panic("field path: want a") },
	} {
		t.Run(name, func(t *testing.T) {
			tl := &choosy{tool{spec: perdure.Spec{Name: "files.read", Effect: perdure.Read}, call: ok}, check}
			v, asked, called := judged(t, tl, dataJSON(t, `{"path":"./a"}`))
			if v.Answer != perdure.Deny || v.Rules[0] != ruling.Arguments ||
				!strings.Contains(v.Reason, "want a") {
				t.Errorf("got %+v, want a denial that says what is wanted", v)
			}
			if asked != 0 || called != 0 {
				t.Errorf("policy was asked %d times, the tool called %d times, want neither", asked, called)
			}
		})
	}
	tl := &choosy{tool{spec: perdure.Spec{Name: "files.read", Effect: perdure.Read}, call: ok},
		func(perdure.Data) error {
			return nil
		}}
	if v, asked, called := judged(t, tl, nil); v.Answer != perdure.Allow || asked != 1 || called != 1 {
		t.Errorf("got %+v, asked %d, called %d", v, asked, called)
	}
}

const orderSchema = `{"type":"object","properties":{"item":{"type":"string"},"count":{"type":"integer"},"price":{"type":"number"},
"where":{"$ref":"#/$defs/place"},"tags":{"type":["array","null"],"items":{"type":"string"}},"size":{"enum":["s","m"]},
"pair":{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}},"id":{"anyOf":[{"type":"string"},{"type":"integer"}]},
"amount":{"type":"integer","minimum":1,"maximum":9007199254740993},"part":{"exclusiveMinimum":0,"exclusiveMaximum":0.5},
"code":{"type":"string","minLength":2,"maxLength":3},"list":{"minItems":1,"maxItems":2},"map":{"minProperties":1,"maxProperties":1}},
"required":["item"],"additionalProperties":false,
"$defs":{"place":{"type":"object","properties":{"city":{"type":"string"},"in":{"$ref":"#/$defs/place"}},"required":["city"],"additionalProperties":false}}}`

func TestArgumentsAreHeldAgainstTheSchemaBeforePolicy(t *testing.T) {
	vault := keyfile.Vault(t.TempDir())
	sealed, err := seal.For(vault, "ana", dataJSON(t, `"Oslo"`))
	if err != nil {
		t.Fatal(err)
	}
	withSealed, err := perdure.DataOf(map[string]any{"item": "a", "where": sealed.Value(),
		"tags": []any{sealed.Value()}})
	if err != nil {
		t.Fatal(err)
	}
	tl := &tool{spec: perdure.Spec{Name: "order", Effect: perdure.Read, Args: dataJSON(t, orderSchema)},
		call: func(context.Context, perdure.Call) (perdure.Result, error) { return perdure.Result{}, nil }}
	for name, c := range map[string]struct {
		args perdure.Data
		want string // "": they fit
	}{
		"fits": {dataJSON(t,
			`{"item":"a","count":3,"price":1,"where":{"city":"b","in":{"city":"c"}},"tags":null,"size":"m","pair":["a",1],"id":1}`), ""},
		"whole fraction": {dataJSON(t, `{"item":"a","count":3.0}`), ""},
		"sealed":         {withSealed, ""},
		"none":           {nil, "field item: it is missing"},
		"null":           {dataJSON(t, `null`), "field item: it is missing"},
		"unknown": {dataJSON(t, `{"item":"a","Count":1}`),
			"field Count: there is no such field; the fields are amount, code, count, id, item"},
		"type":     {dataJSON(t, `{"item":1}`), "field item: want string, got integer"},
		"fraction": {dataJSON(t, `{"item":"a","count":1.5}`), "field count: want integer, got number"},
		"nested": {dataJSON(t, `{"item":"a","where":{"city":"b","in":{"city":"c","zip":1}}}`),
			"field where.in.zip: there is no such field"},
		"nested missing": {dataJSON(t, `{"item":"a","where":{}}`), "field where.city: it is missing"},
		"element":        {dataJSON(t, `{"item":"a","tags":["b",1]}`), "field tags[1]: want string"},
		"choice":         {dataJSON(t, `{"item":"a","size":"xl"}`), "field size: want one of [s m]"},
		"second of pair": {dataJSON(t, `{"item":"a","pair":["b","c"]}`), "field pair[1]: want integer"},
		"neither":        {dataJSON(t, `{"item":"a","id":true}`), "field id: want string, got boolean"},
		"not an object":  {dataJSON(t, `["item"]`), "want object, got array"},
		"at bounds": {dataJSON(t,
			`{"item":"a","amount":9007199254740993,"part":0.25,"code":"äöü","list":[1],"map":{"a":1}}`), ""},
		"a secret":    {dataJSON(t, `{"item":"a","code":"secret:CODE"}`), ""},
		"below":       {dataJSON(t, `{"item":"a","amount":0}`), "field amount: want at least 1, got 0"},
		"by a digit":  {dataJSON(t, `{"item":"a","amount":9007199254740994}`), "field amount: want at most 9007199254740993"},
		"not above":   {dataJSON(t, `{"item":"a","part":0}`), "field part: want more than 0, got 0"},
		"not under":   {dataJSON(t, `{"item":"a","part":0.5}`), "field part: want less than 0.5, got 0.5"},
		"short":       {dataJSON(t, `{"item":"a","code":"ä"}`), "field code: want at least 2 characters, got 1"},
		"long":        {dataJSON(t, `{"item":"a","code":"abcd"}`), "field code: want at most 3 characters, got 4"},
		"empty list":  {dataJSON(t, `{"item":"a","list":[]}`), "field list: want at least 1 elements, got 0"},
		"many":        {dataJSON(t, `{"item":"a","list":[1,2,3]}`), "field list: want at most 2 elements, got 3"},
		"empty":       {dataJSON(t, `{"item":"a","map":{}}`), "field map: want at least 1 fields, got 0"},
		"many fields": {dataJSON(t, `{"item":"a","map":{"a":1,"b":2}}`), "field map: want at most 1 fields, got 2"},
		"long name":   {dataJSON(t, `{"item":"a","`+strings.Repeat("x", 1<<20)+`":1}`), "there is no such field"},
	} {
		t.Run(name, func(t *testing.T) {
			v, asked, called := judged(t, tl, c.args)
			if c.want == "" {
				if v.Answer != perdure.Allow {
					t.Errorf("got %+v, want it allowed", v)
				}
				return
			}
			if v.Answer != perdure.Deny || v.Rules[0] != ruling.Arguments || !strings.Contains(v.Reason, c.want) ||
				len(v.Reason) > 2<<10 {
				t.Errorf("got %+v, want a denial with %q", v, c.want)
			}
			if asked != 0 || called != 0 {
				t.Errorf("policy was asked %d times, the tool called %d times, want neither", asked, called)
			}
		})
	}
}

func TestSchemaOfAStrangerCannotStopTheNode(t *testing.T) {
	twice := `{"type":"object","anyOf":[{"not":{}},{"$ref":"#/$defs/a0"}],"$defs":{`
	for i := range 40 {
		next := `{"$ref":"#/$defs/a` + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + `"}`
		twice += `"a` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":{"allOf":[` + next + `,` + next + `]},`
	}
	twice = strings.Replace(twice, `"#/$defs/a0"`, `"#/$defs/a00"`, 1) + `"a40":{"type":"object"}}}`
	twice = strings.Replace(twice, `{"not":{}},`, ``, 1)
	for name, schema := range map[string]string{
		"itself":    `{"$ref":"#"}`,
		"each":      `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"doubling":  twice,
		"all of it": `{"allOf":[{"$ref":"#"}],"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			tl := &tool{spec: perdure.Spec{Name: "s.t", Effect: perdure.Read, Args: dataJSON(t, schema)},
				call: func(context.Context, perdure.Call) (perdure.Result, error) { return perdure.Result{}, nil }}
			if v, _, _ := judged(t, tl, nil); v.Answer != perdure.Deny || !strings.Contains(v.Reason, "more work") {
				t.Errorf("got %+v, want a denial", v)
			}
		})
	}
	odd := &tool{spec: perdure.Spec{Name: "s.t", Effect: perdure.Read,
		Args: dataJSON(t,
			`{"$ref":"https://example.com/x","type":7,"properties":[1],"required":{"a":1},"items":3,"enum":4,"allOf":5}`)},
		call: func(context.Context, perdure.Call) (perdure.Result, error) { return perdure.Result{}, nil }}
	if v, _, _ := judged(t, odd, dataJSON(t, `{"a":[1]}`)); v.Answer != perdure.Allow {
		t.Errorf("got %+v, want what is no schema left to the tool", v)
	}
}

// A small schema may ask for many checks, each of them of all that is in it and in the arguments.
func TestWorkOfOneCheckOfAStrangersSchemaCounts(t *testing.T) {
	many := strings.Repeat(`"x",`, 10_000) + `"x"`
	long, fields := strings.Repeat("x", 1<<20), `"f":0`
	for i := range 10_000 {
		fields += fmt.Sprintf(`,"f%d":0`, i)
	}
	for name, c := range map[string]struct {
		leaf, value string
		want        perdure.Answer
	}{
		"length":        {`{"maxLength":2000000}`, `"` + long + `"`, perdure.Deny},
		"no length":     {`{"type":"string"}`, `"` + long + `"`, perdure.Allow},
		"const":         {`{"const":["` + long + `"]}`, `["` + long + `"]`, perdure.Deny},
		"another const": {`{"anyOf":[{"const":["` + long + `"]},{}]}`, `1`, perdure.Deny},
		"enum":          {`{"enum":[` + many + `,"y"]}`, `"y"`, perdure.Deny},
		"types":         {`{"type":[` + many + `,"integer"]}`, `1`, perdure.Deny},
		"required":      {`{"required":[` + many + `]}`, `{"x":1}`, perdure.Deny},
		"fields": {`{"anyOf":[{"additionalProperties":{"type":"string"}},{}]}`, `{` + fields + `}`,
			perdure.Deny},
		"one field": {`{"properties":{"f":{"type":"integer"}}}`, `{` + fields + `}`, perdure.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			const levels = 14
			defs := ""
			for i := range levels {
				ref := fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)
				defs += fmt.Sprintf(`"l%d":{"allOf":[%s,%s]},`, i, ref, ref)
			}
			schema := fmt.Sprintf(`{"properties":{"v":{"$ref":"#/$defs/l0"}},"$defs":{%s"l%d":%s}}`, defs, levels, c.leaf)
			tl := &tool{spec: perdure.Spec{Name: "s.t", Effect: perdure.Read, Args: dataJSON(t, schema)},
				call: func(context.Context, perdure.Call) (perdure.Result, error) { return perdure.Result{}, nil }}
			v, _, _ := judged(t, tl, dataJSON(t, `{"v":`+c.value+`}`))
			if v.Answer != c.want || c.want == perdure.Deny && !strings.Contains(v.Reason, "more work") {
				t.Errorf("got %v: %.500s, want %v", v.Answer, v.Reason, c.want)
			}
		})
	}
}

func TestTwoToolsWithOneNameAreRefused(t *testing.T) {
	first, _ := counter("files.read", perdure.Read)
	first.spec.Description = "reads a file"
	second, seen := counter("files.read", perdure.Read)
	second.spec.Description = "sends it away"
	n := newNode(t, new(perdure.MemStore), scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{perdure.Execute{Tool: "files.read"}}
	}), first, second)
	id := create(t, n, perdure.Genesis{})
	_, runErr := n.RunAgent(t.Context(), id)
	_, startErr := n.Start(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
		Charter: perdure.Charter{Scope: "test"}})
	for _, err := range []error{runErr, startErr, n.Run(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "reads a file") ||
			!strings.Contains(err.Error(), "sends it away") {
			t.Errorf("got %v, want an error that names both", err)
		}
	}
	if _, total := calls(seen); total != 0 {
		t.Errorf("a tool was called %d times", total)
	}
	for _, name := range []string{"", "a b", "a\x1b[2J", "a\nb", "a\u202eb", "a\xff", "delegate",
		strings.Repeat("x", 300)} {
		odd, _ := counter(name, perdure.Read)
		if err := (&perdure.Node{Tools: []perdure.Tool{odd}}).CheckTools(); err == nil {
			t.Errorf("a tool named %q was taken", name)
		}
	}
}

func TestAToolThatReconcilesSeesWhatWasSealed(t *testing.T) {
	vault := keyfile.Vault(t.TempDir())
	sealed, err := seal.For(vault, "ana", dataJSON(t, `"ana@example.com"`))
	if err != nil {
		t.Fatal(err)
	}
	args, err := perdure.DataOf(map[string]any{"to": sealed.Value()})
	if err != nil {
		t.Fatal(err)
	}
	looked := ""
	mail := &looker{tool{spec: perdure.Spec{Name: "mail", Effect: perdure.Once},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			return perdure.Result{}, perdure.ErrInDoubt
		},
		reconcile: func(c perdure.Call) (perdure.Result, error) {
			looked = string(c.Args.JSON())
			return perdure.Result{}, nil
		}}}
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: "mail", Args: args}}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}), mail)
	n.Vault = vault
	run(t, n, create(t, n, perdure.Genesis{}))
	if looked != `{"to":"ana@example.com"}` {
		t.Errorf("it looked for %s", looked)
	}
}
