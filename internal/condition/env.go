package condition

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// Kind is the type of a variable.
type Kind int

// The kinds of variable. Dyn is any value; lists and maps hold any values, and the keys of maps are text.
const (
	Bool Kind = iota + 1
	Int
	Float
	String
	Time
	Duration
	Dyn
	ListDyn
	MapDyn
)

// kinds gives each kind its name in messages and its CEL type.
var kinds = map[Kind]struct {
	name string
	cel  *cel.Type
}{
	Bool:     {"bool", cel.BoolType},
	Int:      {"int", cel.IntType},
	Float:    {"float", cel.DoubleType},
	String:   {"string", cel.StringType},
	Time:     {"time", cel.TimestampType},
	Duration: {"duration", cel.DurationType},
	Dyn:      {"any", cel.DynType},
	ListDyn:  {"list", cel.ListType(cel.DynType)},
	MapDyn:   {"map", cel.MapType(cel.StringType, cel.DynType)},
}

// String returns the kind's name in messages: "int", "list".
func (k Kind) String() string {
	if d, ok := kinds[k]; ok {
		return d.name
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// A Var is a variable that conditions may name.
type Var struct {
	Name string
	Kind Kind
}

// An Env is the set of variables a condition may name, and a cache of the conditions compiled against it.
// It is safe for concurrent use.
type Env struct {
	vars  []Var // in declaration order
	kind  map[string]Kind
	cel   *cel.Env
	cache *cache
}

// NewEnv declares variables. Names are CEL identifiers, each declared once.
func NewEnv(vars ...Var) (*Env, error) {
	e := &Env{vars: append([]Var(nil), vars...), kind: make(map[string]Kind, len(vars)), cache: newCache(maxCached)}
	opts := []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{}),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableMacroCallTracking(), // lets Waiting print exists and all as they were written
		cel.ParserExpressionSizeLimit(maxSource),
		cel.ParserRecursionLimit(maxDepth),
		cel.RegexProgramSizeLimit(maxRegexp),
		cel.CostModelVersion(costModel),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(maxLoops), rules{}),
	}
	for _, v := range vars {
		k, ok := kinds[v.Kind]
		if !ok {
			return nil, fmt.Errorf("declare variable %q: unknown kind %v", v.Name, v.Kind)
		}
		if _, dup := e.kind[v.Name]; dup {
			return nil, fmt.Errorf("declare variable %q: declared twice", v.Name)
		}
		e.kind[v.Name] = v.Kind
		opts = append(opts, cel.Variable(v.Name, k.cel))
	}
	env, err := cel.NewEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("declare variables: %w", err)
	}
	e.cel = env
	for _, v := range vars {
		// Only a name that reads back as one identifier can be used: not a.b, not a reserved word.
		tree, iss := env.Parse(v.Name)
		if iss.Err() != nil || tree.NativeRep().Expr().Kind() != ast.IdentKind {
			return nil, fmt.Errorf("declare variable %q: not an identifier, or a reserved word of CEL", v.Name)
		}
	}
	return e, nil
}

// Compile returns the condition written in src. It is refused, with the line and column and the variables there are,
// if it does not parse, names an unknown variable or function, mixes types, or exceeds a limit. Its result must be a
// bool; an element of a Dyn, ListDyn or MapDyn variable, whose type is not known yet, is checked when evaluated.
//
// The same text gives the same *Program for as long as it stays in the cache.
func (e *Env) Compile(src string) (*Program, error) {
	if c, ok := e.cache.get(src); ok {
		return c.p, c.err
	}
	p, err := e.compile(src)
	if err != nil {
		err = fmt.Errorf("condition %s: %w", quote(src), err)
	}
	if len(src) <= maxSource {
		e.cache.put(&compiled{src, p, err})
	}
	return p, err
}

func (e *Env) compile(src string) (*Program, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("%d bytes long, at most %d are allowed; split it into several conditions", len(src),
			maxSource)
	}
	if strings.TrimSpace(src) == "" {
		return nil, errors.New(`empty; write "true" for a condition that always holds`)
	}
	tree, iss := e.cel.Compile(src)
	if iss.Err() != nil {
		return nil, e.explain(iss)
	}
	if t := tree.OutputType(); t.Kind() != types.BoolKind && t.Kind() != types.DynKind {
		return nil, fmt.Errorf("is of type %s, want bool; compare it with something, as in x == 1", t)
	}
	run, err := e.program(tree)
	if err != nil {
		return nil, err
	}
	return &Program{src: src, env: e, tree: tree, run: run, names: e.names(tree)}, nil
}

// program plans a checked condition: bounded in cost, the same on every node.
func (e *Env) program(tree *cel.Ast, opts ...cel.EvalOption) (cel.Program, error) {
	return e.cel.Program(tree, cel.EvalOptions(opts...), cel.CostTracking(prices{}), cel.CostLimit(MaxCost),
		cel.OptimizeRegex(boundedMatch), cel.CustomDecoratorV2(orderLiterals))
}

// names returns the declared variables that a condition mentions, in declaration order.
func (e *Env) names(tree *cel.Ast) []string {
	mentioned := make(map[string]bool)
	for _, ref := range tree.NativeRep().ReferenceMap() {
		mentioned[ref.Name] = true
	}
	var names []string
	for _, v := range e.vars {
		if mentioned[v.Name] {
			names = append(names, v.Name)
		}
	}
	return names
}
