package condition

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/google/go-cmp/cmp"
)

// fold is an environment like the one triggers see.
func fold(t testing.TB) *Env {
	t.Helper()
	env, err := NewEnv(Var{"now", Time}, Var{"age", Duration}, Var{"ready", Bool}, Var{"n", Int},
		Var{"ratio", Float}, Var{"status", String}, Var{"spend", MapDyn}, Var{"children", ListDyn},
		Var{"last", Dyn})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func values() map[string]any {
	return map[string]any{
		"now":    time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("", -3600)),
		"age":    90 * time.Minute,
		"ready":  false,
		"n":      3,
		"ratio":  0.5,
		"status": "dormant",
		"spend":  map[string]any{"cost": 42.5, "tokens": uint64(7), "by": map[string]int{"b": 2, "a": 1}},
		"children": []any{
			map[string]any{"id": "x", "done": true},
			map[string]any{"id": "y", "done": false},
		},
		"last": nil,
	}
}

func compile(t testing.TB, env *Env, src string) *Program {
	t.Helper()
	p, err := env.Compile(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConditionsReadEveryKindOfVariable(t *testing.T) {
	env := fold(t)
	for src, want := range map[string]bool{
		`n > 2`:                                   true,
		`n > 2.5`:                                 true,
		`ratio < 1`:                               true,
		`status == "dormant" && !ready`:           true,
		`status in ["ready", "running"]`:          false,
		`spend.cost > 100`:                        false,
		`spend.tokens == 7`:                       true,
		`spend.by.a + spend.by.b == 3`:            true,
		`has(spend.limit) && spend.limit > 1`:     false,
		`children.exists(c, c.done)`:              true,
		`children.all(c, c.done)`:                 false,
		`size(children) == 2`:                     true,
		`last == null`:                            true,
		`age >= duration("1h30m")`:                true,
		`now > timestamp("2026-03-02T00:00:00Z")`: true,
		`now.getHours() == 0`:                     true, // UTC, whatever zone the value carries
		`now.getHours("+02:00") == 2`:             true,
		`string(now) == "2026-03-02T00:30:00Z"`:   true,
		`status.matches("^dor[a-z]+$")`:           true,
		`children[1].done`:                        false, // its type is known only here
	} {
		got, err := compile(t, env, src).Eval(values())
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", src, got, err, want)
		}
	}
}

func TestUnusableConditionsAreRefusedWithAHint(t *testing.T) {
	env := fold(t)
	for _, c := range []struct{ src, want string }{
		{`n > 1 && spent > 2`,
			`line 1, column 10: there is no variable or function "spent"; the variables are now (time), age (duration)`},
		{"n > 1 &&\n  spent > 2", `line 2, column 3: `},
		{`now() > n`, `no variable or function "now"`},
		{`random() > 1`, `no variable or function "random"`},
		{`n == status`, `column 3: == does not take (int, string)`},
		{`ratio == 1`, `write 1.0 for 1`},
		{`n + 1`, `is of type int, want bool`},
		{`n >`, `column 4: syntax error: unexpected end of text`},
		{`(n > 1`, `column 7: syntax error: missing ')' at end of text`},
		{` `, `empty; write "true"`},
		{`status.matches("[")`, `not in RE2 syntax`},
		{`status.matches("(a{90}){90}")`, `more than 250 instructions`},
		{`status.matches(status)`, `must be a literal`},
		{`age > duration("soon")`, `column 16: not a duration`},
		{`now > timestamp("monday")`, `not a time`},
		{`now.getHours("Europe/Berlin") > 8`, `fixed offset`},
		{`now.getHours(status) > 8`, `fixed offset`},
		{`google.protobuf.Struct{fields: {}} == last`, `message literals`},
		{strings.Repeat("(", 60) + "ready" + strings.Repeat(")", 60), `nests more than 50 deep`},
		{`n` + strings.Repeat("+n", 60) + ` > 1`, `nests more than 50 deep`},
		{`children` + strings.Repeat(".map(c, c)", 5) + ` == []`, `more than 4 of exists`},
		{`ready` + strings.Repeat(" || ready", 1000), `bytes long, at most 4096`},
	} {
		p, err := env.Compile(c.src)
		if err == nil {
			t.Errorf("%s: compiled to %v, want an error with %q", quote(c.src), p, c.want)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, want an error with %q", quote(c.src), err, c.want)
		}
	}
}

func TestEvaluationErrorsSayWhatIsWrong(t *testing.T) {
	env := fold(t)
	set := func(name string, v any) map[string]any {
		vars := values()
		vars[name] = v
		return vars
	}
	absent := values()
	delete(absent, "n")
	for _, c := range []struct {
		src  string
		vars map[string]any
		want string
	}{
		{`spend.limit > 1`, values(), `there is no key "limit"; test for it first with has(…)`},
		{`n > 1`, absent, `variable "n" has no value`},
		{`ready || n > 1`, absent, `variable "n" has no value`},
		{`n > 1`, set("n", "three"), `variable "n" is string, want int`},
		{`n > 1`, set("n", uint64(1<<63)), `variable "n" is uint, want int`},
		{`n > 1`, set("n", nil), `variable "n" is null_type, want int`},
		{`spend.cost > 1`, set("spend", map[int]string{1: "a"}), `holds a Go map[int]string`},
		{`last.x > 1`, set("last", struct{ x int }{1}), `holds a Go struct`},
		{`last > 1 && ready`, set("last", "word"), ``}, // false && error is false
		{`last > 1 || ready`, set("last", "word"), `got a value of a type it does not take`},
		{`last`, set("last", "word"), `is string, want bool`},
		{`n / 0 > 1`, values(), `division by zero`},
		{`status.matches("a")`, set("status", strings.Repeat("a", maxMatched+1)), `bytes of text, at most 65536`},
	} {
		got, err := compile(t, env, c.src).Eval(c.vars)
		switch {
		case c.want == "" && (err != nil || got):
			t.Errorf("%s: got %v, %v, want false", c.src, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, %v, want an error with %q", c.src, got, err, c.want)
		}
	}
}

func TestCostBombIsStopped(t *testing.T) {
	env := fold(t)
	list := make([]any, 1000)
	for i := range list {
		list[i] = map[string]any{"text": strings.Repeat("a", 60_000)}
	}
	vars := map[string]any{"children": list}
	for _, src := range []string{
		`children.all(a, children.all(b, children.all(c, a != null && b != null && c != null)))`, // 10^9 steps
		`children.map(a, children.map(b, children.map(c, [a, b, c]))) == []`,
		`children.exists(c, (c.text + c.text + c.text + c.text).contains("ab"))`,
	} {
		p := compile(t, env, src)
		got, err := p.Eval(vars)
		if err == nil || !strings.Contains(err.Error(), "costs more than 500000 steps") {
			t.Errorf("%s: got %v, %v, want a cost error", src, got, err)
		}
		if rest := p.Waiting(vars); rest == "" {
			t.Errorf("%s: waits for nothing, want the condition", src)
		}
	}
}

// By CEL's own price four such matches would pass, and each may take a sixth of a second.
func TestMatchingIsPricedByItsText(t *testing.T) {
	text := strings.Repeat("a", 60_000)
	got, err := compile(t, fold(t), `children.exists(c, c.matches("(a?){9}b"))`).
		Eval(map[string]any{"children": []any{text, text, text, text}})
	if err == nil || !strings.Contains(err.Error(), "costs more than 500000 steps") {
		t.Errorf("got %v, %v, want a cost error", got, err)
	}
}

func TestConditionLooksAtManyElements(t *testing.T) {
	list := make([]any, 50_000)
	for i := range list {
		list[i] = map[string]any{"done": true}
	}
	got, err := compile(t, fold(t), `children.all(c, c.done)`).Eval(map[string]any{"children": list})
	if err != nil || !got {
		t.Errorf("got %v, %v, want true", got, err)
	}
}

// Go walks a map in another order each time, so a hundred rounds without order would not agree.
func TestMapsAreWalkedInTheOrderOfTheirKeys(t *testing.T) {
	env := fold(t)
	keys := map[string]any{}
	for i := range 20 {
		keys[fmt.Sprintf("k%02d", i)] = i
	}
	for _, src := range []string{
		`last.map(k, k)[0] == "k00" && last.map(k, k)[19] == "k19"`,
		`[last].map(m, m)[0].map(k, k)[7] == "k07"`,
		`{"c": 1, "a": 2, "b": 3, "d": n}.map(k, k) == ["a", "b", "c", "d"]`,
		`{3: "", 1: "", 2: ""}.map(k, k) == [1, 2, 3]`,
		`children.map(c, c.map(k, k)[0])[0] == "done"`,
		`last == last && {"a": 1, "b": 2} == {"b": 2, "a": 1} && spend.by == {"a": 1, "b": 2}`,
	} {
		p := compile(t, env, src)
		vars := values()
		vars["last"] = keys
		for range 100 {
			if got, err := p.Eval(vars); err != nil || !got {
				t.Fatalf("%s: got %v, %v, want true every time", src, got, err)
			}
		}
	}
}

func TestEvalLeavesValuesAlone(t *testing.T) {
	vars, want := values(), values()
	if _, err := compile(t, fold(t), `spend.by.map(k, k).size() + children.filter(c, c.done).size() == n`).
		Eval(vars); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, vars); diff != "" {
		t.Errorf("values changed (-want +got):\n%s", diff)
	}
}

func TestVariablesMustBeUsable(t *testing.T) {
	for want, vars := range map[string][]Var{
		`"x": declared twice`: {{"x", Int}, {"x", Bool}},
		`"x": unknown kind`:   {{"x", 0}},
		`"in": not an`:        {{"in", Int}},
		`"a.b": not an`:       {{"a.b", Int}},
		`"true": not an`:      {{"true", Bool}},
		`"": not an`:          {{"", Bool}},
		`"a b": not an`:       {{"a b", Bool}},
	} {
		if _, err := NewEnv(vars...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want an error with %q", vars, err, want)
		}
	}
}

func TestCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	env := fold(t)
	kept := compile(t, env, `ready`)
	for i := range 2 * maxCached {
		compile(t, env, fmt.Sprintf(`n > %d`, i))
		if got := compile(t, env, `ready`); got != kept {
			t.Fatalf("after %d others the condition in use was compiled again", i+1)
		}
	}
	if got := env.cache.len(); got != maxCached {
		t.Errorf("the cache holds %d programs, want %d", got, maxCached)
	}
}

// A test under the race detector would not do: the tests before it may have labelled the errors already.
func TestSharedErrorsAreLabelledBeforeAnyEvaluation(t *testing.T) {
	for name, shared := range map[string]ref.Val{
		"no such overload":   types.NoSuchOverloadErr(),
		"timestamp overflow": types.Int(math.MaxInt64).ConvertToType(types.TimestampType),
	} {
		if got := shared.(*types.Err).NodeID(); got != math.MaxInt64 {
			t.Errorf("%s carries node %d, want %d: evaluations in parallel would write to it", name, got,
				int64(math.MaxInt64))
		}
	}
}

func TestEnvServesManyGoroutines(t *testing.T) {
	env := fold(t)
	srcs := []string{
		`n > 2 && ready`, `children.exists(c, c.done)`, `spend.map(k, k)[0] == "by"`,
		`last.contains("x") || ready`, `status.matches("^d") && last > 1`,
		`timestamp(n + 9000000000000000) > now || ready`,
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			vars := values()
			vars["last"] = g // of the wrong type for two of the conditions
			for i := range 200 {
				src := srcs[(g+i)%len(srcs)]
				p, err := env.Compile(src)
				if err != nil {
					t.Error(err)
					return
				}
				_, errA := p.Eval(vars)
				_, errB := p.Eval(vars)
				if fmt.Sprint(errA) != fmt.Sprint(errB) {
					t.Errorf("%s: got %v, then %v", src, errA, errB)
				}
				p.Waiting(vars)
			}
		})
	}
	wg.Wait()
}
