package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"

	"github.com/perdure/perdure/seal"
)

// argument is what one rule takes an argument of a tool for. Tools are many and their arguments are not in the schema,
// so their types are inferred from how the rule uses them; a call whose arguments are of other types is denied.
type argument struct {
	typ    resolved.IsType // of a leaf; nil while unknown
	fields map[string]*argument
	read   bool              // not only asked for with `has`
	shape  *shape            // of typ
	folded map[string]string // the names of the fields by what careless decoders look at
}

// inference finds the arguments of one rule.
type inference struct {
	root argument
	errs []error
}

// inferArgs returns the arguments a rule looks at; nil when it looks at none.
func inferArgs(p *ast.Policy) (*argument, error) {
	var in inference
	for _, c := range p.Conditions {
		for range 2 { // the second time round, what is compared with another argument knows that one's type
			in.errs = nil
			in.expr(c.Body, resolved.BoolType{})
		}
	}
	in.root.check("context.args", &in.errs)
	if in.root.fields == nil {
		return nil, errors.Join(in.errs...)
	}
	return &in.root, errors.Join(in.errs...)
}

// expr looks for arguments in an expression that is wanted to be of a type.
func (in *inference) expr(n ast.IsNode, want resolved.IsType) {
	long, text, truth := resolved.LongType{}, resolved.StringType{}, resolved.BoolType{}
	switch n := n.(type) {
	case ast.NodeTypeAccess:
		if path, ok := argPath(n); ok {
			in.use(path, want)
			return
		}
		in.expr(n.Arg, nil)
	case ast.NodeTypeHas:
		if path, ok := argPath(n.Arg); ok {
			in.note(append(path, string(n.Value)), nil, false)
			return
		}
		in.expr(n.Arg, nil)
	case ast.NodeTypeAnd:
		in.both(n.BinaryNode, truth, truth)
	case ast.NodeTypeOr:
		in.both(n.BinaryNode, truth, truth)
	case ast.NodeTypeNot:
		in.expr(n.Arg, truth)
	case ast.NodeTypeIfThenElse:
		in.expr(n.If, truth)
		in.expr(n.Then, want)
		in.expr(n.Else, want)
	case ast.NodeTypeEquals:
		in.both(n.BinaryNode, in.typeOf(n.Right), in.typeOf(n.Left))
	case ast.NodeTypeNotEquals:
		in.both(n.BinaryNode, in.typeOf(n.Right), in.typeOf(n.Left))
	case ast.NodeTypeLessThan:
		in.both(n.BinaryNode, long, long)
	case ast.NodeTypeLessThanOrEqual:
		in.both(n.BinaryNode, long, long)
	case ast.NodeTypeGreaterThan:
		in.both(n.BinaryNode, long, long)
	case ast.NodeTypeGreaterThanOrEqual:
		in.both(n.BinaryNode, long, long)
	case ast.NodeTypeAdd:
		in.both(n.BinaryNode, long, long)
	case ast.NodeTypeSub:
		in.both(n.BinaryNode, long, long)
	case ast.NodeTypeMult:
		in.both(n.BinaryNode, long, long)
	case ast.NodeTypeNegate:
		in.expr(n.Arg, long)
	case ast.NodeTypeLike:
		in.expr(n.Arg, text)
	case ast.NodeTypeContains:
		in.both(n.BinaryNode, setOf(in.typeOf(n.Right)), elementOf(in.typeOf(n.Left)))
	case ast.NodeTypeContainsAll:
		in.both(n.BinaryNode, in.typeOf(n.Right), in.typeOf(n.Left))
	case ast.NodeTypeContainsAny:
		in.both(n.BinaryNode, in.typeOf(n.Right), in.typeOf(n.Left))
	case ast.NodeTypeIsEmpty:
		in.expr(n.Arg, in.known(n.Arg, setOf(text)))
	case ast.NodeTypeHasTag:
		in.both(n.BinaryNode, nil, text)
	case ast.NodeTypeGetTag:
		in.both(n.BinaryNode, nil, text)
	case ast.NodeTypeSet:
		for _, e := range n.Elements {
			in.expr(e, elementOf(want))
		}
	default:
		in.children(n)
	}
}

func (in *inference) both(n ast.BinaryNode, left, right resolved.IsType) {
	in.expr(n.Left, left)
	in.expr(n.Right, right)
}

// children looks into a node that says nothing about the types of its parts.
func (in *inference) children(n ast.IsNode) {
	switch n := n.(type) {
	case ast.NodeTypeIn:
		in.both(n.BinaryNode, nil, nil)
	case ast.NodeTypeIs:
		in.expr(n.Left, nil)
	case ast.NodeTypeIsIn:
		in.expr(n.Left, nil)
		in.expr(n.Entity, nil)
	case ast.NodeTypeRecord:
		for _, e := range n.Elements {
			in.expr(e.Value, nil)
		}
	case ast.NodeTypeExtensionCall:
		for _, a := range n.Args {
			in.expr(a, nil)
		}
	}
}

// use notes that an argument is read.
func (in *inference) use(path []string, want resolved.IsType) {
	if len(path) == 0 {
		in.errs = append(in.errs, errors.New("context.args can only be asked for its attributes, as in context.args "+
			"has path && context.args.path like \"/srv/*\""))
		return
	}
	in.note(path, want, true)
}

// note records an argument.
func (in *inference) note(path []string, typ resolved.IsType, read bool) {
	if len(path) > maxDepth {
		in.errs = append(in.errs, fmt.Errorf("context.args.%s…: nested deeper than %d", strings.Join(path[:3], "."),
			maxDepth))
		return
	}
	a := &in.root
	for _, name := range path {
		if a.fields == nil {
			a.fields = map[string]*argument{}
		}
		next := a.fields[name]
		if next == nil {
			next = new(argument)
			a.fields[name] = next
		}
		a = next
	}
	a.read = a.read || read
	switch {
	case typ == nil:
	case a.typ == nil:
		a.typ = typ
	case typeName(a.typ) != typeName(typ):
		in.errs = append(in.errs, fmt.Errorf("context.args.%s is used as %s and as %s", strings.Join(path, "."),
			typeName(a.typ), typeName(typ)))
	}
}

// typeOf is the type an expression has whatever its arguments are; nil when that is not known.
func (in *inference) typeOf(n ast.IsNode) resolved.IsType {
	switch n := n.(type) {
	case ast.NodeValue:
		switch n.Value.(type) {
		case types.Boolean:
			return resolved.BoolType{}
		case types.Long:
			return resolved.LongType{}
		case types.String:
			return resolved.StringType{}
		}
	case ast.NodeTypeSet:
		for _, e := range n.Elements {
			return setOf(in.typeOf(e))
		}
	case ast.NodeTypeAdd, ast.NodeTypeSub, ast.NodeTypeMult, ast.NodeTypeNegate:
		return resolved.LongType{}
	case ast.NodeTypeAccess:
		if path, ok := argPath(n); ok {
			return in.root.at(path)
		}
		for _, rec := range recordsOf(n.Arg, nil) {
			if attr, ok := rec[n.Value]; ok {
				return attr.Type
			}
		}
	}
	return nil
}

// known is the type an argument was found to have, or else def.
func (in *inference) known(n ast.IsNode, def resolved.IsType) resolved.IsType {
	if t := in.typeOf(n); t != nil {
		return t
	}
	return def
}

func (a *argument) at(path []string) resolved.IsType {
	for _, name := range path {
		if a = a.fields[name]; a == nil {
			return nil
		}
	}
	return a.typ
}

// check makes arguments ready for judging and refuses those whose type remains unknown, or that are both a value and a
// record.
func (a *argument) check(name string, errs *[]error) {
	switch {
	case a.fields != nil && a.typ != nil:
		*errs = append(*errs, fmt.Errorf("%s is used as %s and as a record", name, typeName(a.typ)))
	case elementOf(elementOf(a.typ)) != nil:
		*errs = append(*errs, fmt.Errorf("%s is used as %s: want a list of texts, numbers or truths", name,
			typeName(a.typ)))
	case a.fields == nil && a.typ == nil && a.read:
		*errs = append(*errs, fmt.Errorf("%s: nothing says what type it is; compare it with a literal", name))
	}
	if a.typ != nil {
		a.shape = shapeOf(a.typ)
	}
	a.folded = make(map[string]string, len(a.fields))
	for _, key := range slices.Sorted(maps.Keys(a.fields)) {
		a.fields[key].check(name+"."+key, errs)
		a.folded[foldKey(key)] = key
	}
}

// schemaType is the argument for the schema. Of one that is only asked for, only its presence is told.
func (a *argument) schemaType() resolved.IsType {
	if a.fields == nil {
		if a.typ == nil {
			return resolved.BoolType{}
		}
		return a.typ
	}
	rec := make(resolved.RecordType, len(a.fields))
	for name, f := range a.fields {
		rec[types.String(name)] = resolved.Attribute{Type: f.schemaType(), Optional: true}
	}
	return rec
}

// judge says why the rule cannot judge an argument, if it cannot: it is of another type than the rule takes it for.
// Null is absent. A key that a decoder careless of case, dashes or underscores would take for one the rule looks at is
// refused: the tool might take it for that one.
//
// What is sealed is refused as well, whatever the rule asks about it, even whether it is there: the tool gets the plain
// value, and the rule would have judged its ciphertext. It is not opened for policy, because a decision must be
// derivable from the memory alone, by somebody without the vault and after the value was erased; and because the hash
// of the facts would let whoever guesses the value know that he did.
func (a *argument) judge(v any) error {
	if seal.Is(v) {
		return errors.New("it is sealed, and a rule cannot judge what it cannot read")
	}
	if a.fields == nil {
		if a.shape == nil {
			return nil
		}
		given, err := valueOf(v)
		if err == nil {
			_, err = a.shape.convert(&given, nil)
		}
		return err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("want a record, got %s", kindOf(v))
	}
	first, wrong := "", error(nil) // the first by name, so that the same arguments give the same reason
	for key, e := range m {
		if err := a.judgeField(key, e); err != nil && (wrong == nil || key < first) {
			first, wrong = key, err
		}
	}
	return wrong
}

func (a *argument) judgeField(key string, v any) error {
	f := a.fields[key]
	switch {
	case f == nil:
		if like := a.lookalike(key); like != "" {
			return fmt.Errorf("%q could be taken for %q: want it written so", key, like)
		}
	case v != nil:
		if err := f.judge(v); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// lookalike is the field that key could be taken for, or "".
func (a *argument) lookalike(key string) string {
	return a.folded[foldKey(key)]
}

// foldKey drops what careless decoders do not look at.
func foldKey(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return -1
		}
		least := r // of those that differ in case only, such as k, K and the Kelvin sign
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, key)
}

// argPath is the path below context.args that n reads, if it reads one.
func argPath(n ast.IsNode) ([]string, bool) {
	path, root := accessPath(n)
	if root != "context" || len(path) == 0 || path[0] != "args" {
		return nil, false
	}
	return slices.Clip(path[1:]), true
}

// accessPath is the attributes n reads, one after the other, and the variable it reads them from, if it is such an
// expression.
func accessPath(n ast.IsNode) (path []string, root string) {
	for {
		switch x := n.(type) {
		case ast.NodeTypeAccess:
			path, n = append(path, string(x.Value)), x.Arg
			continue
		case ast.NodeTypeVariable:
			root = string(x.Name)
		}
		slices.Reverse(path)
		return path, root
	}
}

func setOf(t resolved.IsType) resolved.IsType {
	if t == nil {
		return nil
	}
	return resolved.SetType{Element: t}
}

func elementOf(t resolved.IsType) resolved.IsType {
	if s, ok := t.(resolved.SetType); ok {
		return s.Element
	}
	return nil
}
