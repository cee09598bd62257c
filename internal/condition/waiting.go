package condition

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
)

// Waiting returns the part of the condition that does not hold yet, for people to read: of a && b with a true it is b,
// of a || b with neither true it is both, of a choice it is the branch taken. It is empty if the condition holds.
//
// Unlike Eval it makes do with what it is given: a part that cannot be evaluated, because a variable has no value or a
// key is missing, does not hold yet.
func (p *Program) Waiting(vars map[string]any) string {
	p.traceOnce.Do(func() {
		// The same tree was planned once already, so planning it again cannot be refused.
		p.trace, _ = p.env.program(p.tree, cel.OptExhaustiveEval, cel.OptPartialEval)
	})
	bound := make(map[string]any, len(p.names))
	var unknown []*cel.AttributePatternType
	for _, name := range p.names {
		v, ok := vars[name]
		val, err := bind(p.env.kind[name], v)
		if !ok || err != nil {
			unknown = append(unknown, cel.AttributePattern(name))
			continue
		}
		bound[name] = val
	}
	partial, err := cel.PartialVars(bound, unknown...)
	if err != nil {
		return p.src
	}
	// The error of the whole is not needed: each part's own result is in the state.
	_, details, _ := p.trace.Eval(partial)
	state := details.State()
	if state == nil {
		return p.src
	}
	tree := p.tree.NativeRep()
	rest, ok := residual(state, tree.Expr())
	if !ok {
		return ""
	}
	text, err := cel.ExprToString(rest, tree.SourceInfo(), cel.FormatWrapOnColumn(oneLine))
	if err != nil {
		return p.src
	}
	return text
}

// oneLine is a column no condition reaches, quotes and escapes included: what Waiting returns has no line breaks.
const oneLine = 8 * maxSource

// residual returns what is left of e without the parts that hold, and whether anything is.
func residual(state interpreter.EvalState, e ast.Expr) (ast.Expr, bool) {
	if v, ok := state.Value(e.ID()); ok && v == types.True {
		return nil, false
	}
	if e.Kind() != ast.CallKind {
		return e, true
	}
	call := e.AsCall()
	switch args := call.Args(); call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		left, l := residual(state, args[0])
		right, r := residual(state, args[1])
		or := call.FunctionName() == operators.LogicalOr
		switch {
		case l && r:
			return ast.NewExprFactory().NewCall(e.ID(), call.FunctionName(), left, right), true
		case or || !l && !r: // one side of an || holds, or both of an &&
			return nil, false
		case l:
			return left, true
		default:
			return right, true
		}
	case operators.Conditional:
		switch v, _ := state.Value(args[0].ID()); v {
		case types.True:
			return residual(state, args[1])
		case types.False:
			return residual(state, args[2])
		}
	}
	return e, true
}
