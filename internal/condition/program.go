package condition

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// A Program is a compiled condition. It is safe for concurrent use.
type Program struct {
	src   string
	env   *Env
	tree  *cel.Ast
	run   cel.Program
	names []string // the declared variables it mentions

	traceOnce sync.Once
	trace     cel.Program // for Waiting: evaluates every branch and remembers the results
}

// String returns the condition as it was written.
func (p *Program) String() string { return p.src }

// Only reports whether the condition mentions no variable but this one.
func (p *Program) Only(name string) bool {
	for _, n := range p.names {
		if n != name {
			return false
		}
	}
	return true
}

// Eval says whether the condition holds for the values of its variables. The answer depends on nothing else.
//
// It is an error if a variable the condition mentions has no value or one of another kind, if the condition reads a
// missing key of a map (test for it first: has(spend.cost) && spend.cost > 100), and if it costs too much. Variables
// it does not mention may be absent. Values are bool, integers, floats, strings, []byte, time.Time, time.Duration, nil,
// and slices and maps with text keys of these; Eval does not change them.
func (p *Program) Eval(vars map[string]any) (bool, error) {
	ok, _, err := p.EvalCost(vars)
	return ok, err
}

// EvalCost is Eval, and says how many steps of MaxCost it took: the same on every node.
func (p *Program) EvalCost(vars map[string]any) (holds bool, cost uint64, err error) {
	bound := make(map[string]any, len(p.names))
	for _, name := range p.names {
		v, ok := vars[name]
		if !ok {
			return false, 0, fmt.Errorf("condition %s: variable %q has no value", quote(p.src), name)
		}
		val, err := bind(p.env.kind[name], v)
		if err != nil {
			return false, 0, fmt.Errorf("condition %s: variable %q %w", quote(p.src), name, err)
		}
		bound[name] = val
	}
	out, details, err := p.run.Eval(bound)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	if err != nil {
		if errors.As(err, new(interpreter.EvalCancelledError)) {
			cost = MaxCost // stopped there
		}
		return false, cost, fmt.Errorf("condition %s: %w", quote(p.src), explainEval(err))
	}
	yes, ok := out.(types.Bool)
	if !ok {
		return false, cost, fmt.Errorf("condition %s: is %s, want bool", quote(p.src), out.Type().TypeName())
	}
	return bool(yes), cost, nil
}

// bind converts the value of a variable and checks that it is of its kind.
func bind(k Kind, v any) (ref.Val, error) {
	val := adapter{}.NativeToValue(v)
	if types.IsError(val) {
		return nil, val.(*types.Err)
	}
	switch k {
	case Int:
		if u, ok := val.(types.Uint); ok && u <= math.MaxInt64 {
			val = types.Int(u)
		}
	case Float:
		if i, ok := val.(types.Int); ok {
			val = types.Double(i)
		}
	case Dyn:
		return val, nil
	}
	if want := kinds[k].cel; val.Type().TypeName() != want.TypeName() {
		return nil, fmt.Errorf("is %s, want %s", val.Type().TypeName(), k)
	}
	return val, nil
}

// The library hands out two error values that all evaluations share, and writes to one the first time it passes through
// && or ||. Doing that here, before any evaluation, leaves evaluations in parallel with nothing to write.
func init() {
	types.LabelErrNode(math.MaxInt64, types.NoSuchOverloadErr())
	types.LabelErrNode(math.MaxInt64, types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
}
