package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/canon"
)

// validate checks what a document says about all its versions at once, and notes where its parts stand.
func (d *document) validate() *canon.Rejection {
	if r := d.validSize(); r != nil {
		return r
	}
	if r := d.validFields(d.Fields, "$"); r != nil {
		return r
	}
	seen := map[string]bool{}
	for i := range d.Types {
		if r := d.validType(&d.Types[i], seen); r != nil {
			return r
		}
	}
	for i := range d.Invariants {
		if r := d.validInvariant(&d.Invariants[i], index("$.invariants", i)); r != nil {
			return r
		}
	}
	return d.validChanges()
}

func (d *document) validInvariant(inv *invariant, path string) *canon.Rejection {
	inv.path = path
	if t := d.typeDef(inv.In); inv.In != "" && (t == nil || t.Fields == nil) {
		return refuse(predType, path+".in", clip(inv.In), "a record under types")
	}
	if inv.Predicate == "" {
		return refuse(predExpression, path, "an empty predicate", "a condition")
	}
	return d.bounds(inv.Since, inv.Until, path)
}

// validSize checks the name, the version, and how much there is to compile.
func (d *document) validSize() *canon.Rejection {
	switch {
	case !identifier(d.Name):
		return refuse(predName, "$.name", clip(d.Name), "an identifier")
	case d.Version < 1:
		return refuse(predVersion, "$.version", strconv.FormatInt(d.Version, 10), "a version from 1 up")
	case d.Version > maxVersions:
		return refuse(predLimit, "$.version", strconv.FormatInt(d.Version, 10),
			fmt.Sprintf("at most %d versions", maxVersions), "start a schema under a new name")
	case len(d.Types) > maxTypes || len(d.Invariants) > maxInvariants:
		return refuse(predLimit, "$", fmt.Sprintf("%d types and %d invariants", len(d.Types), len(d.Invariants)),
			fmt.Sprintf("at most %d and %d", maxTypes, maxInvariants))
	}
	parts := len(d.Fields)
	for _, t := range d.Types {
		parts += len(t.Fields) + len(t.Enum)
	}
	if int64(parts)*d.Version > maxParts {
		return refuse(predLimit, "$", fmt.Sprintf("%d fields and enum values in %d versions", parts, d.Version),
			fmt.Sprintf("at most %d in all", maxParts))
	}
	n, size := 0, 0
	for _, src := range d.expressions() {
		n, size = n+1, size+len(src)
	}
	if n > maxConditions || size > maxExpressions {
		return refuse(predLimit, "$", fmt.Sprintf("%d predicates and conditions of %d bytes", n, size),
			fmt.Sprintf("at most %d of %d bytes", maxConditions, maxExpressions))
	}
	return nil
}

// expressions returns everything there is to compile.
func (d *document) expressions() []string {
	var all []string
	for _, i := range d.Invariants {
		all = append(all, i.Predicate)
	}
	for _, f := range d.Fields {
		all = append(all, f.Predicates...)
	}
	for _, t := range d.Types {
		for _, f := range t.Fields {
			all = append(all, f.Predicates...)
		}
	}
	for _, c := range d.Changes {
		for _, r := range slices.Concat(c.Upgrade, c.Downgrade) {
			if r.When != "" {
				all = append(all, r.When)
			}
		}
	}
	return all
}

func (d *document) validType(t *typeDef, seen map[string]bool) *canon.Rejection {
	path := "$.types." + t.Name
	if !identifier(t.Name) || reservedName(t.Name) || seen[t.Name] {
		return refuse(predName, "$.types", clip(t.Name),
			"a name that is an identifier, no built-in type, and used once")
	}
	seen[t.Name] = true
	if t.Enum == nil {
		return d.validFields(t.Fields, path)
	}
	if t.Fields != nil {
		return refuse(predShape, path, "a type of two kinds", "fields, or enum")
	}
	if len(t.Enum) > maxNames {
		return refuse(predLimit, path+".enum", strconv.Itoa(len(t.Enum))+" values", fmt.Sprintf("at most %d", maxNames))
	}
	names := map[string]bool{}
	for i, n := range t.Enum {
		if n == "" || len(n) > maxName || n[0] == '$' || names[n] {
			return refuse(predName, index(path+".enum", i), clip(n),
				"a value that is not empty, does not start with $, and is there once")
		}
		names[n] = true
	}
	return nil
}

// validFields checks the fields of one record over all versions.
func (d *document) validFields(fields []field, path string) *canon.Rejection {
	if len(fields) == 0 {
		return refuse(predShape, path, "no fields", "at least one")
	}
	byID := map[int64]*field{}
	for i := range fields {
		f := &fields[i]
		f.path = index(path+".fields", i)
		if f.ID < 1 || f.ID >= Complement {
			return refuse(predID, f.path+".id", strconv.FormatInt(f.ID, 10),
				fmt.Sprintf("an id from 1 to %d", Complement-1))
		}
		if other := byID[f.ID]; other != nil {
			got := fmt.Sprintf("id %d, which field %s has", f.ID, other.Name)
			if other.Until != 0 && other.Until <= max(f.Since, 1) {
				got = fmt.Sprintf("id %d, which field %s had until version %d", f.ID, other.Name, other.Until)
			}
			return refuse(predID, f.path+".id", got, "an id of its own")
		}
		byID[f.ID] = f
		if !identifier(f.Name) {
			return refuse(predName, f.path+".name", clip(f.Name), "an identifier")
		}
		if r := d.bounds(f.Since, f.Until, f.path); r != nil {
			return r
		}
		for k := range i {
			if o := &fields[k]; o.Name == f.Name && overlap(o, f) {
				return refuse(predName, f.path+".name", clip(f.Name)+" again", "a name of its own")
			}
		}
		e, bad := parseType(f.Type, 0)
		if bad != "" || e.String() != f.Type {
			return refuse(predType, f.path+".type", clip(f.Type), "a type in its canonical spelling")
		}
		if name := e.leaf().name; name != "" && d.typeDef(name) == nil {
			return refuse(predType, f.path+".type", "unknown type "+clip(name), "a built-in type, or one under types",
				didYouMean(name, d.typeNames()))
		}
		if len(f.Predicates) > maxPredicates {
			return refuse(predLimit, f.path+".predicate", strconv.Itoa(len(f.Predicates))+" predicates",
				fmt.Sprintf("at most %d", maxPredicates))
		}
	}
	return nil
}

// overlap reports whether there is a version with both fields.
func overlap(a, b *field) bool {
	return (a.Until == 0 || max(b.Since, 1) < a.Until) && (b.Until == 0 || max(a.Since, 1) < b.Until)
}

func (d *document) typeNames() []string {
	names := []string{"bool", "int", "u64", "float", "bytes", "text", "verbatim"}
	for _, t := range d.Types {
		names = append(names, t.Name)
	}
	return names
}

// bounds checks since and until; since is 0 where something begins with version 1.
func (d *document) bounds(since, until int64, path string) *canon.Rejection {
	if since == 1 || since > d.Version || since < 0 {
		return refuse(predVersion, path+".since", strconv.FormatInt(since, 10),
			fmt.Sprintf("a version from 1 to %d", d.Version))
	}
	if until != 0 && (until > d.Version || until <= max(since, 1)) {
		return refuse(predVersion, path+".until", strconv.FormatInt(until, 10),
			fmt.Sprintf("a version from %d to %d", max(since, 1)+1, d.Version))
	}
	return nil
}

func (d *document) validChanges() *canon.Rejection {
	seen := map[int64]bool{}
	for i := range d.Changes {
		c := &d.Changes[i]
		path := index("$.changes", i)
		if c.To < 2 || c.To > d.Version || seen[c.To] {
			return refuse(predVersion, path+".to", strconv.FormatInt(c.To, 10),
				fmt.Sprintf("a version from 2 to %d, each once", d.Version))
		}
		seen[c.To] = true
		if r := validRules(c.Upgrade, path+".upgrade"); r != nil {
			return r
		}
		if r := validRules(c.Downgrade, path+".downgrade"); r != nil {
			return r
		}
	}
	return nil
}

func validRules(rules []rule, path string) *canon.Rejection {
	if len(rules) > maxRules {
		return refuse(predLimit, path, strconv.Itoa(len(rules))+" rules", fmt.Sprintf("at most %d", maxRules))
	}
	for i := range rules {
		rules[i].path = index(path, i)
		if r := rules[i].valid(); r != nil {
			return r
		}
	}
	return nil
}

// valid checks that a rule is of exactly one kind.
func (r *rule) valid() *canon.Rejection {
	switch {
	case r.Rename != "" && r.To != "" && r.Default == "" && r.Drop == "" && r.Value == nil:
		return nil
	case r.Default != "" && r.Value != nil && r.Rename == "" && r.To == "" && r.Drop == "":
		again, err := canon.DataFromJSON(r.Value.JSON())
		if err != nil || !bytes.Equal(again, r.Value) {
			return refuse(predCanonical, r.path+".value", "data that JSON cannot hold", "a JSON value")
		}
		return nil
	case r.Drop != "" && r.Rename == "" && r.To == "" && r.Default == "" && r.Value == nil && r.When == "":
		return nil
	}
	return refuse(predShape, r.path, "a rule of no one kind", "rename and to, or default and value, or drop")
}
