package schema

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/condition"
)

// Library is predicates written in Go, by name. A schema names one with an at sign: "@net.hostname".
//
// A predicate gets the value of the field, or nil for an invariant, and the record it is in, and returns why it does
// not hold, or nil. It must depend on nothing else and be safe for concurrent use: every node has to come to the same
// verdict. Values are bool, int64, uint64, float64, string (enums too), []byte, []any and map[string]any; they must not
// be changed.
type Library map[string]func(this any, self map[string]any) error

// assertion is one compiled predicate.
type assertion struct {
	src   string
	price price
	holds func(this any, self map[string]any) (bool, error)
}

// assert compiles a predicate over a value of type t, or over a record alone if t is nil.
func (s *Schema) assert(src, path string, t *canon.Type, v *view) (assertion, *canon.Rejection) {
	if name, named := strings.CutPrefix(src, "@"); named {
		fn := s.lib[name]
		if fn == nil {
			return assertion{}, refuse(predLibrary, path, clip(src), "a registered predicate")
		}
		return assertion{src, price{}, func(this any, self map[string]any) (bool, error) {
			err := fn(this, self)
			return err == nil, err
		}}, nil
	}
	p, r := s.condition(src, path, kindOf(t), v)
	if r != nil {
		return assertion{}, r
	}
	return assertion{src, priceOf(src), func(this any, self map[string]any) (bool, error) {
		return p.Eval(map[string]any{"this": this, "self": self})
	}}, nil
}

// condition compiles CEL over self, the record of v, and this unless its kind is 0.
func (s *Schema) condition(src, path string, this condition.Kind, v *view) (*condition.Program, *canon.Rejection) {
	p, err := environment(this).Compile(src)
	if err != nil {
		return nil, refuse(predExpression, path, err.Error(), "CEL over this and self that yields a bool")
	}
	if name := unknownField(src, v); name != "" {
		return nil, refuse(predExpression, path, fmt.Sprintf("self.%s in version %d", name, s.doc.Version),
			"a field of "+v.title(), didYouMean(name, v.names()))
	}
	return p, nil
}

var (
	envs   = map[condition.Kind]*condition.Env{}
	envsMu sync.Mutex
)

// environment returns the variables of predicates over a value of kind this, or of none if it is 0.
func environment(this condition.Kind) *condition.Env {
	envsMu.Lock()
	defer envsMu.Unlock()
	if env := envs[this]; env != nil {
		return env
	}
	vars := []condition.Var{{Name: "self", Kind: condition.MapDyn}}
	if this != 0 {
		vars = append(vars, condition.Var{Name: "this", Kind: this})
	}
	env, err := condition.NewEnv(vars...)
	if err != nil {
		panic(err) // the names and kinds are fixed above
	}
	envs[this] = env
	return env
}

// kindOf is the kind of variable that holds values of type t.
func kindOf(t *canon.Type) condition.Kind {
	if t == nil {
		return 0
	}
	switch t.Kind {
	case canon.Bool:
		return condition.Bool
	case canon.Int:
		return condition.Int
	case canon.Float:
		return condition.Float
	case canon.Text, canon.Verbatim, canon.Enum:
		return condition.String
	case canon.List:
		return condition.ListDyn
	case canon.Map, canon.Record:
		return condition.MapDyn
	}
	return condition.Dyn // u64 and bytes, which have no kind of their own
}

var (
	literals  = regexp.MustCompile(`"(\\.|[^"\\])*"|'(\\.|[^'\\])*'`)
	oddQuotes = regexp.MustCompile(`"""|'''|[rRbB]["']`)
	selfField = regexp.MustCompile(`(?:^|[^.\w])self\s*\.\s*(\w+)\s*(\(?)`)
)

// unknownField returns a field of self that an expression reads and v does not have. CEL cannot tell, because self is a
// map to it, and has(self.tpyo) would be false for ever.
func unknownField(src string, v *view) string {
	if oddQuotes.MatchString(src) {
		return "" // not worth a parser: evaluation finds it unless has() hides it
	}
	for _, m := range selfField.FindAllStringSubmatch(literals.ReplaceAllString(src, `""`), -1) {
		if m[2] == "" && v.byName[m[1]] == nil {
			return m[1]
		}
	}
	return ""
}
