package condition

import (
	"testing"

	"pgregory.net/rapid"
)

func TestWaitingNamesWhatDoesNotHoldYet(t *testing.T) {
	env := fold(t)
	for _, c := range []struct{ src, want string }{
		{`n > 2`, ``},
		{`spend.cost > 100`, `spend.cost > 100`},
		{`n > 2 && spend.cost > 100 && status == "dormant"`, `spend.cost > 100`},
		{`n > 2 && (ready || children.all(c, c.done))`, `ready || children.all(c, c.done)`},
		{`(n > 2 && ready) || (n > 5 && age > duration("1h"))`, `ready || n > 5`},
		{`ready && (n > 5 || ratio > 1.0)`, `ready && (n > 5 || ratio > 1.0)`},
		{`n > 2 ? spend.cost > 100 : ready`, `spend.cost > 100`},
		{`n > 5 ? spend.cost > 100 : n > 1 && ready`, `ready`},
		{`!(n > 2)`, `!(n > 2)`},
		{`spend.limit > 5 && n > 2`, `spend.limit > 5`},                                // a missing key
		{`has(spend.limit) && spend.limit > 5`, `has(spend.limit) && spend.limit > 5`}, // both parts
		{`now - timestamp("2026-03-01T00:00:00Z") > duration("48h")`,
			`now - timestamp("2026-03-01T00:00:00Z") > duration("48h")`},
	} {
		if got := compile(t, env, c.src).Waiting(values()); got != c.want {
			t.Errorf("%s: got %q, want %q", c.src, got, c.want)
		}
	}
}

func TestWaitingMakesDoWithoutValues(t *testing.T) {
	p := compile(t, fold(t), `ready && n == 3 && status == "dormant"`)
	for _, c := range []struct {
		vars map[string]any
		want string
	}{
		{nil, `ready && n == 3 && status == "dormant"`},
		{map[string]any{"n": 3}, `ready && status == "dormant"`},
		{map[string]any{"n": 3, "ready": "yes", "status": "dormant"}, `ready`}, // of the wrong kind
		{map[string]any{"n": 3, "ready": true, "status": "dormant"}, ``},
	} {
		if got := p.Waiting(c.vars); got != c.want {
			t.Errorf("%v: got %q, want %q", c.vars, got, c.want)
		}
	}
}

// formula is a random condition over a, b and c, and its truth for the given values.
func formula(t *rapid.T, vars map[string]any, depth int) (string, bool) {
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 5).Draw(t, "kind")
	}
	if kind <= 1 {
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		return name, vars[name].(bool)
	}
	l, lv := formula(t, vars, depth-1)
	if kind == 2 {
		return "!(" + l + ")", !lv
	}
	r, rv := formula(t, vars, depth-1)
	switch kind {
	case 3:
		return "(" + l + " && " + r + ")", lv && rv
	case 4:
		return "(" + l + " || " + r + ")", lv || rv
	}
	e, ev := formula(t, vars, depth-1)
	if lv {
		return "(" + l + " ? " + r + " : " + e + ")", rv
	}
	return "(" + l + " ? " + r + " : " + e + ")", ev
}

func TestWaitingIsEmptyExactlyWhenTheConditionHolds(t *testing.T) {
	env, err := NewEnv(Var{"a", Bool}, Var{"b", Bool}, Var{"c", Bool})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		vars := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			vars[name] = rapid.Bool().Draw(t, name)
		}
		src, want := formula(t, vars, 4)
		p, err := env.Compile(src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Eval(vars)
		if err != nil || got != want {
			t.Fatalf("%s with %v: got %v, %v, want %v", src, vars, got, err, want)
		}
		rest := p.Waiting(vars)
		if (rest == "") != want {
			t.Fatalf("%s with %v is %v, but waits for %q", src, vars, want, rest)
		}
		if rest == "" {
			return
		}
		// What is left is a condition too, and does not hold either.
		left, err := env.Compile(rest)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := left.Eval(vars); err != nil || got {
			t.Fatalf("%s waits for %s, which is %v, %v, want false", src, rest, got, err)
		}
	})
}

func FuzzConditionNeverPanicsAndAnswersTheSameTwice(f *testing.F) {
	env := fold(f)
	for _, src := range []string{
		`n > 2 && spend.cost > 100`, `children.exists(c, c.done)`, `{"b": 1, "a": 2}.map(k, k)[0] == "a"`,
		`now.getHours("+02:00") > 3 ? status.matches("^d") : last == null`, `spend.by == {"a": 1, "b": 2}`,
		`[1, 2.0, "x"].exists(x, type(x) == string)`, "b'\\xff' == bytes(status)",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := env.Compile(src)
		if err != nil {
			return
		}
		a, errA := p.Eval(values())
		b, errB := p.Eval(values())
		if a != b || (errA == nil) != (errB == nil) {
			t.Errorf("%s: got %v, %v, then %v, %v", src, a, errA, b, errB)
		}
		if rest := p.Waiting(values()); (rest == "") != (a && errA == nil) {
			t.Errorf("%s: is %v, %v, but waits for %q", src, a, errA, rest)
		}
	})
}

func BenchmarkEval(b *testing.B) {
	p := compile(b, fold(b), `n > 2 && has(spend.cost) && spend.cost > 100`)
	vars := values()
	for b.Loop() {
		if _, err := p.Eval(vars); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	env := fold(b)
	for b.Loop() {
		if _, err := env.compile(`n > 2 && has(spend.cost) && spend.cost > 100`); err != nil {
			b.Fatal(err)
		}
	}
}
