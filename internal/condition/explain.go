package condition

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/interpreter"
)

// explain turns the library's issues into one line: the first issue, where it is, and what to write instead.
func (e *Env) explain(iss *cel.Issues) error {
	errs := iss.Errors()
	first := errs[0]
	for _, o := range errs[1:] {
		if before(o.Location, first.Location) {
			first = o
		}
	}
	msg := e.plain(first.Message)
	if first.Location.Line() < 1 || first.Location.Column() < 0 {
		return errors.New(msg)
	}
	return fmt.Errorf("line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1, msg)
}

func before(a, b common.Location) bool {
	return a.Line() < b.Line() || a.Line() == b.Line() && a.Column() < b.Column()
}

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	noOverload = regexp.MustCompile(`^found no matching overload for '_?([^']*?)_?' applied to '([^']*)'`)
)

// plain says in the words of a condition's author what the library says in its own.
func (e *Env) plain(msg string) string {
	if m := undeclared.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("there is no variable or function %q; %s", m[1], e.inventory())
	}
	if m := noOverload.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("%s does not take %s; convert one side, as in double(n), or write 1.0 for 1", m[1], m[2])
	}
	switch {
	case strings.HasPrefix(msg, "Syntax error: "):
		// The parser lists every token it would have taken, which helps nobody.
		msg, _, _ = strings.Cut(strings.TrimPrefix(msg, "Syntax error: "), " expecting ")
		return "syntax error: " + strings.NewReplacer("mismatched input", "unexpected", "'<EOF>'", "end of text").
			Replace(msg)
	case strings.Contains(msg, "recursion"):
		return fmt.Sprintf("nests more than %d deep; split it into several conditions", maxDepth)
	case strings.HasPrefix(msg, "comprehension exceeds nesting limit"):
		return fmt.Sprintf("more than %d of exists, all, map and filter inside or behind each other", maxLoops)
	case strings.HasPrefix(msg, "invalid matches argument"), strings.HasPrefix(msg, "regex program size"):
		return fmt.Sprintf("the regular expression is not in RE2 syntax or compiles to more than %d instructions",
			maxRegexp)
	case strings.HasPrefix(msg, "invalid duration argument"):
		return `not a duration; write "90s", "3h30m" or "48h"`
	case strings.HasPrefix(msg, "invalid timestamp argument"):
		return `not a time; write "2026-01-31T09:00:00Z"`
	}
	return msg
}

// explainEval says what to do about the errors a condition's author can mend.
func explainEval(err error) error {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return fmt.Errorf("costs more than %d steps; loop over fewer elements, or match shorter text", MaxCost)
	}
	if key, ok := strings.CutPrefix(err.Error(), "no such key: "); ok {
		return fmt.Errorf("there is no key %q; test for it first with has(…)", key)
	}
	if err.Error() == "no such overload" {
		return errors.New("an operator or function got a value of a type it does not take; test for it first, as in " +
			"type(x) == int")
	}
	return err
}

// inventory says which variables exist.
func (e *Env) inventory() string {
	if len(e.vars) == 0 {
		return "no variables are declared"
	}
	var b strings.Builder
	b.WriteString("the variables are ")
	for i, v := range e.vars {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%s)", v.Name, v.Kind)
	}
	return b.String()
}

// quote returns src quoted and cut to a length that fits a message.
func quote(src string) string {
	const most = 120
	if r := []rune(src); len(r) > most {
		src = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", src)
}
