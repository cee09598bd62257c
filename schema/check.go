package schema

import (
	"fmt"

	"github.com/perdure/perdure/internal/canon"
)

// Check reports whether value is exactly one canonical value of the schema for which all predicates and invariants
// hold. A refusal is a *canon.Rejection.
func (s *Schema) Check(value []byte) error {
	if err := canon.Check(s.typ, value, canon.Limits{}); err != nil {
		return err
	}
	if !s.asserted {
		return nil
	}
	c := checker{s: s, work: newWork()}
	if r := c.value(s.typ, decode(s.typ, value), "$"); r != nil {
		return r
	}
	return nil
}

// CheckState reports whether vars, the state of an agent, are the fields of the schema: each of its type, none missing
// that is required, none unknown, all predicates and invariants holding.
func (s *Schema) CheckState(vars map[string]canon.Data) error {
	_, err := s.State(vars)
	return err
}

// State returns the state of an agent as one value of the schema, refusing it as CheckState does. Variables are
// schema-less: in them records are maps by field name, enums are text, and an integer will do for a float.
func (s *Schema) State(vars map[string]canon.Data) ([]byte, error) {
	n := &node{kind: '{'}
	for _, name := range sortedKeys(vars) {
		if err := vars[name].Valid(); err != nil {
			return nil, refuse(predShape, "$."+name, err.Error(), "canonical data", "set the variable again")
		}
		n.keys = append(n.keys, name)
		n.items = append(n.items, nodeOf(vars[name].Value()))
	}
	return s.fromNode(n, nil)
}

// checker evaluates predicates, field by field, then invariants, from the inside out.
type checker struct {
	s    *Schema
	work *work
}

func (c *checker) value(t *canon.Type, v any, path string) *canon.Rejection {
	switch v := v.(type) {
	case []any:
		if !c.deep(t) {
			return nil
		}
		for i, e := range v {
			if r := c.value(t.Elem, e, index(path, i)); r != nil {
				return r
			}
		}
	case map[string]any:
		if !c.deep(t) {
			return nil
		}
		for _, k := range sortedKeys(v) {
			if r := c.value(t.Elem, v[k], path+"["+clip(k)+"]"); r != nil {
				return r
			}
		}
	case record:
		return c.record(c.s.byType[t], v, path)
	}
	return nil
}

// deep reports whether there are records inside a list or map.
func (c *checker) deep(t *canon.Type) bool {
	for t.Elem != nil {
		t = t.Elem
	}
	return t.Kind == canon.Record
}

func (c *checker) record(v *view, rec record, path string) *canon.Rejection {
	var self map[string]any
	needs := len(v.invariants) > 0
	for i := range v.fields {
		f := &v.fields[i]
		needs = needs || len(f.assertions) > 0
		if x, ok := rec[uint16(f.ID)]; ok {
			if r := c.value(f.typ, x, path+"."+f.Name); r != nil {
				return r
			}
		}
	}
	if !needs {
		return nil
	}
	self = c.s.self(v, rec)
	for i := range v.fields {
		f := &v.fields[i]
		this, ok := self[f.Name]
		if !ok {
			continue
		}
		for _, a := range f.assertions {
			if r := c.assert(predHolds, a, this, self, path+"."+f.Name); r != nil {
				return r
			}
		}
	}
	for _, a := range v.invariants {
		if r := c.assert(predInvariant, a, nil, self, path); r != nil {
			return r
		}
	}
	return nil
}

func (c *checker) assert(p canon.Predicate, a assertion, this any, self map[string]any, path string) *canon.Rejection {
	if r := c.work.spend(a.price.of(this, self), path); r != nil {
		return r
	}
	holds, err := a.holds(this, self)
	switch {
	case err != nil:
		return refuse(p, path, err.Error(), a.src)
	case holds:
		return nil
	case this == nil:
		return refuse(p, path, "a record for which it is false", a.src)
	}
	return refuse(p, path, clip(fmt.Sprint(this)), a.src)
}
