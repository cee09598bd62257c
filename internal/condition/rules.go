package condition

import (
	"regexp"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// rules refuses the parts of CEL whose result can differ between two nodes, or whose cost cannot be bounded.
type rules struct{}

var _ cel.ASTValidator = rules{}

// Name implements cel.ASTValidator.
func (rules) Name() string { return "perdure.rules" }

// Validate implements cel.ASTValidator.
func (rules) Validate(_ *cel.Env, _ cel.ValidatorConfig, tree *ast.AST, iss *cel.Issues) {
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.StructKind:
			// Protocol buffer messages bring maps without an order and types no agent holds.
			iss.ReportErrorAtID(e.ID(), `message literals are not part of conditions; use a map: {"key": value}`)
		case ast.CallKind:
			call := e.AsCall()
			args := call.Args()
			if len(args) == 0 {
				return
			}
			last := args[len(args)-1]
			text, constant := literal(last)
			switch name := call.FunctionName(); {
			case name == overloads.Matches && !constant:
				iss.ReportErrorAtID(last.ID(), "the regular expression must be a literal")
			case slices.Contains(zoned, name) && !(constant && fixedZone.MatchString(text)):
				// Named zones come from the machine's time zone database, which differs between machines and years.
				iss.ReportErrorAtID(last.ID(),
					`%s takes a fixed offset such as "+02:00", or nothing for UTC: named time zones differ between nodes`, name)
			}
		}
	}))
}

// zoned are the functions of a time that take a time zone.
var zoned = []string{
	overloads.TimeGetFullYear, overloads.TimeGetMonth, overloads.TimeGetDayOfYear, overloads.TimeGetDate,
	overloads.TimeGetDayOfMonth, overloads.TimeGetDayOfWeek, overloads.TimeGetHours, overloads.TimeGetMinutes,
	overloads.TimeGetSeconds, overloads.TimeGetMilliseconds,
}

var fixedZone = regexp.MustCompile(`^[+-](0\d|1\d|2[0-3]):[0-5]\d$`)

func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// boundedMatch compiles the pattern of matches once and refuses text that would take too long.
var boundedMatch = &interpreter.RegexOptimization{
	Function:   overloads.Matches,
	RegexIndex: 1,
	Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		match := func(args ...ref.Val) ref.Val {
			text, ok := args[0].(types.String)
			if !ok {
				return types.NoSuchOverloadErr()
			}
			if len(text) > maxMatched {
				return types.NewErr("matches got %d bytes of text, at most %d are allowed; use contains", len(text),
					maxMatched)
			}
			return types.Bool(re.MatchString(string(text)))
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), match), nil
	},
}

// prices are the costs that differ from CEL's own.
type prices struct{}

// CallCost implements the library's cost estimator; nil means its own price.
func (prices) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function != overloads.Matches || len(args) == 0 {
		return nil
	}
	cost := uint64(1)
	if text, ok := args[0].(types.String); ok {
		cost += matchCost * uint64(len(text))
	}
	return &cost
}
