package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/condition"
)

// step moves values between two versions that follow each other.
type step struct {
	old, new *Schema
	up, down direction
}

// direction is one way of a step.
type direction struct {
	from, to *Schema
	pred     canon.Predicate
	rules    map[string][]move // by the record they are about
}

// move is a compiled rule that gives a field a value.
type move struct {
	rule
	source  *viewField // of a rename
	target  *viewField
	convert conversion
	value   any // of a default
	when    *condition.Program
	price   price // of when
}

// newStep compiles the change between two versions and checks that it leaves nothing open.
func newStep(old, new *Schema) (*step, *canon.Rejection) {
	var c change
	for _, d := range new.doc.Changes {
		if d.To == new.doc.Version {
			c = d
		}
	}
	st := &step{old: old, new: new}
	st.up = direction{from: old, to: new, pred: predUpgrade, rules: map[string][]move{}}
	st.down = direction{from: new, to: old, pred: predDowngrade, rules: map[string][]move{}}
	if r := st.up.compile(c.Upgrade); r != nil {
		return nil, r
	}
	if r := st.down.compile(append(slices.Clone(c.Downgrade), inverse(c)...)); r != nil {
		return nil, r
	}
	if r := st.up.dropsAreSaid(c.Upgrade); r != nil {
		return nil, r
	}
	for _, d := range []*direction{&st.up, &st.down} {
		if r := d.complete(); r != nil {
			return nil, r
		}
	}
	return st, nil
}

// inverse returns the downgrade rules that follow from the renames of an upgrade: those whose field has no rule of its
// own.
func inverse(c change) []rule {
	var rules []rule
	for _, u := range c.Upgrade {
		said := slices.ContainsFunc(c.Downgrade, func(d rule) bool {
			return d.In == u.In && (d.To == u.Rename || d.Default == u.Rename && d.When == "")
		})
		if u.Rename != "" && !said {
			rules = append(rules, rule{In: u.In, Rename: u.To, To: u.Rename, path: u.path})
		}
	}
	return rules
}

// compile resolves the names in rules.
func (d *direction) compile(rules []rule) *canon.Rejection {
	for _, r := range rules {
		from, to := d.from.views[r.In], d.to.views[r.In]
		if from == nil || to == nil {
			return refuse(predChange, r.path+".in", clip(r.In),
				fmt.Sprintf("a record of version %d and %d", d.from.Version(), d.to.Version()))
		}
		m := move{rule: r}
		var bad *canon.Rejection
		if name := r.Rename + r.Drop; name != "" {
			if m.source, bad = d.only(from, to, name, r.path); bad != nil {
				return bad
			}
		}
		if r.Drop != "" {
			continue
		}
		if m.target, bad = d.only(to, from, r.To+r.Default, r.path); bad != nil {
			return bad
		}
		if r.Rename != "" {
			if m.convert = d.conversion(m.source.typ, m.target.typ); m.convert.do == nil {
				return refuse(predChange, r.path, m.source.Type+" to "+m.target.Type,
					"types between which there is a conversion", "drop the field and give the other a default")
			}
		} else {
			// The value of a default is written as the field's value would be.
			v, bad := former{}.value(m.target.typ, nodeOf(r.Value.Value()), r.path+".value")
			if bad != nil {
				return bad
			}
			if err := canon.Check(m.target.typ, encode(nil, m.target.typ, v), canon.Limits{}); err != nil {
				return refuse(predChange, r.path+".value", err.Error(), "a value of "+m.target.Name)
			}
			m.value = v
		}
		if r.When != "" {
			m.price = priceOf(r.When)
			if m.when, bad = d.from.condition(r.When, r.path+".when", 0, from); bad != nil {
				return bad
			}
		}
		d.rules[r.In] = append(d.rules[r.In], m)
	}
	return nil
}

// only returns the field of a that is called name, which b must not have.
func (d *direction) only(a, b *view, name, path string) (*viewField, *canon.Rejection) {
	f := a.byName[name]
	if f == nil {
		return nil, refuse(predChange, path, "field "+clip(name), "a field of "+a.title()+" in that version",
			didYouMean(name, a.names()))
	}
	if fieldType(b.typ, uint16(f.ID)) != canon.DataType {
		return nil, refuse(predChange, path, "field "+clip(name)+", which both versions have",
			"a field only one of the two versions has", "end the field with until and start another with since")
	}
	return f, nil
}

// dropsAreSaid refuses an upgrade that forgets a field.
func (d *direction) dropsAreSaid(rules []rule) *canon.Rejection {
	for _, name := range sortedKeys(d.from.views) {
		from, to := d.from.views[name], d.to.views[name]
		if to == nil {
			continue
		}
		for i := range from.fields {
			f := &from.fields[i]
			said := slices.ContainsFunc(rules, func(r rule) bool {
				return r.In == name && (r.Rename == f.Name || r.Drop == f.Name)
			})
			if !said && fieldType(to.typ, uint16(f.ID)) == canon.DataType {
				return refuse(predChange, f.path, fmt.Sprintf("field %s, which ends with version %d", f.Name,
					d.from.Version()),
					"a rule for it", fmt.Sprintf(
						`add {"rename": %q, "to": …} or {"drop": %q} to the upgrade to version %d`, f.Name, f.Name,
						d.to.Version()))
			}
		}
	}
	return nil
}

// complete refuses a direction that leaves a required field without a value.
func (d *direction) complete() *canon.Rejection {
	for _, name := range sortedKeys(d.to.views) {
		from, to := d.from.views[name], d.to.views[name]
		if from == nil {
			continue
		}
		for i := range to.fields {
			f := &to.fields[i]
			if !f.Required || fieldType(from.typ, uint16(f.ID)) != canon.DataType {
				continue
			}
			sure := slices.ContainsFunc(d.rules[name], func(m move) bool {
				return m.target.ID == f.ID && m.when == nil && (m.Rename == "" || m.source.Required && m.convert.total)
			})
			if !sure {
				return refuse(predChange, f.path, fmt.Sprintf("required field %s, for which version %d may have no "+
					"value", f.Name, d.from.Version()),
					"a value in every case",
					fmt.Sprintf(`add {"default": %q, "value": …} at the end of the rules from version %d to %d`, f.Name,
						d.from.Version(), d.to.Version()))
			}
		}
	}
	return nil
}

// value moves a value of the same type in both versions.
func (d *direction) value(w *work, from, to *canon.Type, v any, path string) (any, *canon.Rejection) {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			x, r := d.value(w, from.Elem, to.Elem, e, index(path, i))
			if r != nil {
				return nil, r
			}
			list[i] = x
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			x, r := d.value(w, from.Elem, to.Elem, v[k], path+"["+clip(k)+"]")
			if r != nil {
				return nil, r
			}
			m[k] = x
		}
		return m, nil
	case record:
		return d.record(w, d.from.byType[from], d.to.byType[to], v, path)
	}
	return v, nil
}

// record moves a record: fields both versions have stay, rules supply others, and fields neither knows are passed on.
func (d *direction) record(w *work, from, to *view, rec record, path string) (record, *canon.Rejection) {
	out := record{}
	for _, id := range slices.Sorted(maps.Keys(rec)) {
		v, target := rec[id], fieldType(to.typ, id)
		raw, unknown := v.(canon.Data)
		switch {
		case unknown && target == canon.DataType:
			out[id] = raw
		case unknown && d.from.Version() < d.to.Version():
			// A reader passed on a field of a version it did not know. This one does.
			if err := canon.Check(target, raw, canon.Limits{}); err != nil {
				return nil, refuse(d.pred, path, fmt.Sprintf("field %d: %v", id, err), "a value of the field's type",
					"remove the field")
			}
			out[id] = decode(target, raw)
		case !unknown && target != canon.DataType:
			x, r := d.value(w, fieldType(from.typ, id), target, v, path+"."+from.name(id))
			if r != nil {
				return nil, r
			}
			out[id] = x
		}
	}
	var self map[string]any
	for _, m := range d.rules[to.in] {
		id := uint16(m.target.ID)
		if _, given := out[id]; given {
			continue
		}
		if m.when != nil {
			if self == nil {
				self = d.from.self(from, rec)
			}
			if r := w.spend(m.price.of(nil, self), path); r != nil {
				return nil, r
			}
			holds, err := m.when.Eval(map[string]any{"self": self})
			if err != nil {
				return nil, refuse(d.pred, path, err.Error(), m.When)
			}
			if !holds {
				continue
			}
		}
		if m.Rename == "" {
			out[id] = m.value
			continue
		}
		v, ok := rec[uint16(m.source.ID)]
		if !ok {
			continue
		}
		v, ok, r := m.convert.do(w, v, path+"."+m.source.Name)
		if r != nil {
			return nil, r
		}
		if ok {
			out[id] = v
		} else if m.target.Required && !d.otherwise(to.in, m) {
			return nil, refuse(d.pred, path+"."+m.source.Name, clip(fmt.Sprint(v)),
				"a value that "+m.target.Type+" can hold")
		}
	}
	return out, nil
}

// otherwise reports whether another rule gives the target of m a value.
func (d *direction) otherwise(name string, m move) bool {
	return slices.ContainsFunc(d.rules[name], func(o move) bool {
		return o.target.ID == m.target.ID && o.path != m.path
	})
}
