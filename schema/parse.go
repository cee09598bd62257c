package schema

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/canon"
)

// Parse reads a schema file and compiles all its versions. What it returns is the version the file is of. A refusal is
// a *canon.Rejection whose Got ends with the line and column. lib holds the predicates the file may name with @; it may
// be nil.
func Parse(src []byte, lib Library) (*Schema, error) { return parse(src, lib, nil) }

func parse(src []byte, lib Library, named Expressions) (*Schema, error) {
	if len(src) > maxSource {
		return nil, refuse(predLimit, "$", strconv.Itoa(len(src))+" bytes", "at most 1 MiB")
	}
	root, r := parseJSON(src)
	if r != nil {
		r.Predicate, r.Phase = predJSON.Name, predJSON.Phase
		return nil, r
	}
	p := parser{src: src}
	d := p.document(root)
	if p.bad != nil {
		return nil, p.bad
	}
	named.expand(d)
	s, err := compile(d, lib)
	var bad *canon.Rejection
	if errors.As(err, &bad) {
		n := root.find(bad.Path)
		bad.Offset, bad.Got = int64(n.at), placed(src, n.at, bad.Got)
	}
	return s, err
}

// parser turns nodes into a document. The first refusal stays in bad, and what follows is of no interest.
type parser struct {
	src []byte
	bad *canon.Rejection
}

func (p *parser) refuse(pred canon.Predicate, n *node, path, got, want string, hint ...string) {
	if p.bad == nil {
		p.bad = refuse(pred, path, placed(p.src, n.at, got), want, hint...)
		p.bad.Offset = int64(n.at)
	}
}

// object checks that n is an object with known keys.
func (p *parser) object(n *node, path string, keys ...string) bool {
	if n.kind != '{' {
		p.refuse(predShape, n, path, n.say(), "an object")
		return false
	}
	for i, k := range n.keys {
		if !slices.Contains(keys, k) {
			p.refuse(predShape, n.items[i], path, "unknown key "+clip(k), "one of "+strings.Join(keys, ", "),
				didYouMean(k, keys))
		}
	}
	return p.bad == nil
}

// text reads a string; an absent one is empty.
func (p *parser) text(n *node, path, key string) string {
	m := n.member(key)
	if m == nil {
		return ""
	}
	if m.kind != '"' || m.text == "" {
		p.refuse(predShape, m, path+"."+key, m.say(), "a string that is not empty")
	}
	return m.text
}

// integer reads an integer; an absent one is zero.
func (p *parser) integer(n *node, path, key string) int64 {
	m := n.member(key)
	if m == nil {
		return 0
	}
	v, err := strconv.ParseInt(m.text, 10, 32)
	if m.kind != '0' || err != nil || v < 0 {
		p.refuse(predShape, m, path+"."+key, m.say(), "an integer from 0 to 2147483647")
	}
	return v
}

// list reads an array of at most max elements; an absent one is empty.
func (p *parser) list(n *node, path, key string, max int) []*node {
	m := n.member(key)
	if m == nil {
		return nil
	}
	if m.kind != '[' {
		p.refuse(predShape, m, path+"."+key, m.say(), "an array")
	}
	if len(m.items) > max {
		p.refuse(predLimit, m, path+"."+key, strconv.Itoa(len(m.items))+" elements", "at most "+strconv.Itoa(max))
		return nil
	}
	return m.items
}

func (p *parser) need(n *node, path string, keys ...string) {
	for _, k := range keys {
		if n.member(k) == nil {
			p.refuse(predShape, n, path, "no "+k, k, "add "+strconv.Quote(k))
		}
	}
}

func (p *parser) document(n *node) *document {
	if !p.object(n, "$", "schema", "name", "version", "description", "fields", "types", "invariants", "changes") {
		return nil
	}
	p.need(n, "$", "name", "version", "fields")
	if kind := p.text(n, "$", "schema"); kind != "" && kind != "lode" {
		p.refuse(predShape, n.member("schema"), "$.schema", clip(kind), `"lode"`)
	}
	d := &document{Name: p.text(n, "$", "name"), Version: p.integer(n, "$", "version"), Fields: p.fields(n, "$")}
	if types := n.member("types"); types != nil && p.bad == nil {
		d.Types = p.types(types)
	}
	for i, m := range p.list(n, "$", "invariants", maxInvariants) {
		d.Invariants = append(d.Invariants, p.invariant(m, index("$.invariants", i)))
	}
	for i, m := range p.list(n, "$", "changes", maxVersions) {
		path := index("$.changes", i)
		if !p.object(m, path, "to", "upgrade", "downgrade", "description") {
			return nil
		}
		p.need(m, path, "to")
		d.Changes = append(d.Changes, change{To: p.integer(m, path, "to"), Upgrade: p.rules(m, path, "upgrade"),
			Downgrade: p.rules(m, path, "downgrade")})
	}
	return d
}

func (p *parser) fields(n *node, path string) []field {
	var fields []field
	for i, m := range p.list(n, path, "fields", Complement) {
		at := index(path+".fields", i)
		if !p.object(m, at, "id", "name", "type", "required", "since", "until", "predicate", "description") {
			return nil
		}
		p.need(m, at, "id", "name", "type")
		f := field{
			ID: p.integer(m, at, "id"), Name: p.text(m, at, "name"), Type: p.typ(m, at), Since: p.since(m, at),
			Until: p.integer(m, at, "until"), Predicates: p.predicates(m, at),
		}
		if r := m.member("required"); r != nil {
			if r.kind != 't' && r.kind != 'f' {
				p.refuse(predShape, r, at+".required", r.say(), "true or false")
			}
			f.Required = r.kind == 't'
		}
		fields = append(fields, f)
	}
	return fields
}

// since reads the first version of something. Version 1 is where everything starts and is not written down.
func (p *parser) since(n *node, path string) int64 {
	if v := p.integer(n, path, "since"); v != 1 {
		return v
	}
	return 0
}

// typ reads a type and returns its canonical spelling.
func (p *parser) typ(n *node, path string) string {
	s := p.text(n, path, "type")
	if p.bad != nil {
		return ""
	}
	if s == "record" || s == "enum" {
		p.refuse(predType, n.member("type"), path+".type", clip(s), "the name of a type",
			`declare it under "types" and use its name here`)
		return ""
	}
	e, bad := parseType(s, 0)
	if bad != "" {
		p.refuse(predType, n.member("type"), path+".type", bad, "a type")
		return ""
	}
	return e.String()
}

// predicates reads one predicate or a list of them.
func (p *parser) predicates(n *node, path string) []string {
	m := n.member("predicate")
	if m == nil {
		return nil
	}
	if m.kind == '"' {
		return []string{p.text(n, path, "predicate")}
	}
	var all []string
	for i, m := range p.list(n, path, "predicate", maxPredicates) {
		if m.kind != '"' || m.text == "" {
			p.refuse(predShape, m, index(path+".predicate", i), m.say(), "a string that is not empty")
		}
		all = append(all, m.text)
	}
	return all
}

func (p *parser) types(n *node) typeList {
	if n.kind != '{' {
		p.refuse(predShape, n, "$.types", n.say(), "an object of types by name")
		return nil
	}
	if len(n.keys) > maxTypes {
		p.refuse(predLimit, n, "$.types", strconv.Itoa(len(n.keys))+" types", "at most "+strconv.Itoa(maxTypes))
		return nil
	}
	var types typeList
	for i, name := range n.keys {
		m, path := n.items[i], "$.types."+name
		if !identifier(name) || reservedName(name) {
			p.refuse(predName, m, "$.types", clip(name), "a name that is an identifier and no built-in type")
		}
		if !p.object(m, path, "fields", "enum", "description") {
			return nil
		}
		if (m.member("fields") == nil) == (m.member("enum") == nil) {
			p.refuse(predShape, m, path, "a type of no one kind", "fields, or enum")
		}
		t := typeDef{Name: name, Fields: p.fields(m, path)}
		for k, v := range p.list(m, path, "enum", maxNames) {
			if v.kind != '"' {
				p.refuse(predShape, v, index(path+".enum", k), v.say(), "a string")
			}
			t.Enum = append(t.Enum, v.text)
		}
		types = append(types, t)
	}
	return types
}

func (p *parser) invariant(n *node, path string) invariant {
	if n.kind == '"' {
		return invariant{Predicate: n.text}
	}
	if !p.object(n, path, "predicate", "in", "since", "until", "description") {
		return invariant{}
	}
	p.need(n, path, "predicate")
	return invariant{Predicate: p.text(n, path, "predicate"), In: p.text(n, path, "in"), Since: p.since(n, path),
		Until: p.integer(n, path, "until")}
}

func (p *parser) rules(n *node, path, key string) []rule {
	var rules []rule
	for i, m := range p.list(n, path, key, maxRules) {
		at := index(path+"."+key, i)
		if !p.object(m, at, "in", "rename", "to", "default", "value", "drop", "when", "description") {
			return nil
		}
		r := rule{In: p.text(m, at, "in"), Rename: p.text(m, at, "rename"), To: p.text(m, at, "to"),
			Default: p.text(m, at, "default"), Drop: p.text(m, at, "drop"), When: p.text(m, at, "when")}
		if v := m.member("value"); v != nil {
			r.Value = p.data(v)
		}
		rules = append(rules, r)
	}
	return rules
}

// data returns a value as schema-less data in the one way that survives being written as JSON: 1.0 is 1.
func (p *parser) data(n *node) canon.Data {
	d, err := canon.DataFromJSON(p.src[n.at:n.end])
	if err == nil {
		d, err = canon.DataFromJSON(d.JSON())
	}
	if err != nil {
		p.refuse(predJSON, n, "$", err.Error(), "a value")
	}
	return d
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// find returns the node at a path made of identifiers and indexes, or the one nearest to it.
func (n *node) find(path string) *node {
	for _, part := range strings.FieldsFunc(strings.TrimPrefix(path, "$"), func(c rune) bool {
		return c == '.' || c == '[' || c == ']'
	}) {
		next := n.member(part)
		if i, err := strconv.Atoi(part); err == nil && n.kind == '[' && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}
