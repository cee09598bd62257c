package policy

import (
	"slices"

	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// reading is which attributes of a record some rule reads. Making a record for Cedar costs more than most rules do, so
// nothing is put into one that nobody reads; a rule that read it nevertheless would have an error, and that denies. Nil
// reads nothing.
type reading struct {
	whole  bool
	fields []*reading // in the order of the shape
}

// of is what is read of a field.
func (r *reading) of(field int) *reading {
	switch {
	case r == nil || r.whole:
		return r
	case r.fields == nil:
		return nil
	}
	return r.fields[field]
}

// mark notes that an attribute below a record of a shape is read.
func (r *reading) mark(s *shape, path []string) {
	if r.whole || len(path) == 0 || len(s.fields) == 0 {
		r.whole, r.fields = true, nil
		return
	}
	i := slices.IndexFunc(s.fields, func(f field) bool { return string(f.name) == path[0] })
	if i < 0 {
		return // asked for with `has`, and not there
	}
	if r.fields == nil {
		r.fields = make([]*reading, len(s.fields))
	}
	if r.fields[i] == nil {
		r.fields[i] = new(reading)
	}
	r.fields[i].mark(s.fields[i].shape, path[1:])
}

// has reports whether anything of an attribute below a record of a shape is read.
func (r *reading) has(s *shape, path []string) bool {
	if r == nil || r.whole || len(path) == 0 {
		return r != nil
	}
	i := slices.IndexFunc(s.fields, func(f field) bool { return string(f.name) == path[0] })
	return i >= 0 && r.of(i).has(s.fields[i].shape, path[1:])
}

// both is what either reads.
func both(a, b *reading) *reading {
	switch {
	case a == nil || b != nil && (b.whole || a.fields == nil && !a.whole):
		return b
	case b == nil || a.whole || b.fields == nil:
		return a
	}
	out := &reading{fields: slices.Clone(a.fields)}
	for i := range out.fields {
		out.fields[i] = both(a.fields[i], b.fields[i])
	}
	return out
}

// markContext notes what an expression reads of the context, which has a shape.
func (r *reading) markContext(s *shape, n ast.IsNode) {
	ast.Inspect(ast.NewNode(n), func(n ast.IsNode) bool {
		var more []string
		if has, ok := n.(ast.NodeTypeHas); ok {
			n, more = has.Arg, []string{string(has.Value)}
		}
		path, root := accessPath(n)
		if root == "context" {
			r.mark(s, append(path, more...))
		}
		return root != "context"
	})
}
