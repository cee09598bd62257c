package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"
)

// checkPolicy holds a rule against the schema and returns the arguments it looks at, and everything that is wrong with
// it.
func checkPolicy(p *ast.Policy) (*argument, []error) {
	args, err := inferArgs(p)
	errs := flatten(err)
	errs = append(errs, checkHas(p)...)
	errs = append(errs, checkEnums(p)...)
	s := schemaOf()
	if args != nil {
		rec, _ := args.schemaType().(resolved.RecordType)
		s = withArgs(rec)
	}
	for _, err := range flatten(validate.New(s).Policy("", p)) {
		if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
			errs = append(errs, err)
		}
	}
	return args, errs
}

// checkHas refuses `has` for a fact that never is there. To Cedar it is simply false, and a forbid with a misspelt fact
// would never apply.
func checkHas(p *ast.Policy) []error {
	var errs []error
	actions := actionsOf(p.Action)
	for _, c := range p.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			has, ok := n.(ast.NodeTypeHas)
			if !ok {
				return true
			}
			if _, isArg := argPath(has.Arg); isArg {
				return true
			}
			recs := recordsOf(has.Arg, actions)
			if len(recs) > 0 && !slices.ContainsFunc(recs, func(r resolved.RecordType) bool {
				_, found := r[has.Value]
				return found
			}) {
				path, root := accessPath(has.Arg)
				errs = append(errs, fmt.Errorf("%s has no attribute `%s`, ever",
					strings.Join(append([]string{root}, path...), "."), has.Value))
			}
			return true
		})
	}
	return errs
}

// checkEnums refuses a member an enumeration does not have, which the type checker lets pass.
func checkEnums(p *ast.Policy) []error {
	var errs []error
	for _, c := range p.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			v, _ := n.(ast.NodeValue)
			uid, _ := v.Value.(types.EntityUID)
			if enum, ok := schemaOf().Enums[uid.Type]; ok && !slices.Contains(enum.Values, uid) {
				errs = append(errs, fmt.Errorf("`%s`: want one of %v", uid, enum.Values))
			}
			return true
		})
	}
	return errs
}

// actionsOf is the actions a rule is about; nil is all.
func actionsOf(scope ast.IsActionScopeNode) []types.EntityUID {
	switch s := scope.(type) {
	case ast.ScopeTypeEq:
		return []types.EntityUID{s.Entity}
	case ast.ScopeTypeIn:
		return []types.EntityUID{s.Entity}
	case ast.ScopeTypeInSet:
		return s.Entities
	}
	return nil
}

// recordsOf is the records an expression can be, in any of the actions (nil is all); none when it is not a variable or
// a path from one.
func recordsOf(n ast.IsNode, actions []types.EntityUID) []resolved.RecordType {
	s := schemaOf()
	var recs []resolved.RecordType
	switch n := n.(type) {
	case ast.NodeTypeVariable:
		for uid, a := range s.Actions {
			if a.AppliesTo == nil || (actions != nil && !slices.Contains(actions, uid)) {
				continue
			}
			switch n.Name {
			case "context":
				recs = append(recs, a.AppliesTo.Context)
			case "principal":
				recs = append(recs, shapes(a.AppliesTo.Principals)...)
			case "resource":
				recs = append(recs, shapes(a.AppliesTo.Resources)...)
			}
		}
	case ast.NodeTypeAccess:
		for _, rec := range recordsOf(n.Arg, actions) {
			switch t := rec[n.Value].Type.(type) {
			case resolved.RecordType:
				recs = append(recs, t)
			case resolved.EntityType:
				recs = append(recs, shapes([]types.EntityType{types.EntityType(t)})...)
			}
		}
	}
	return recs
}

func shapes(entities []types.EntityType) []resolved.RecordType {
	var recs []resolved.RecordType
	for _, t := range entities {
		if e, ok := schemaOf().Entities[t]; ok {
			recs = append(recs, e.Shape)
		}
	}
	return recs
}

// flatten is the errors joined in err.
func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &joined):
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}
