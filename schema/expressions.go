package schema

import (
	"fmt"
	"maps"
	"strings"

	"github.com/perdure/perdure/internal/condition"
)

// Expressions are predicates in CEL, by the name under which schema files may refer to them with an at sign. They come
// from library files, and stand in a schema word for word once it is read: its id is that of the schema with them, and
// nobody who reads it or its values needs the library.
type Expressions map[string]string

// IsLibrary reports whether a .lode file is a library and not a schema.
func IsLibrary(src []byte) bool {
	root, r := parseJSON(src)
	return r == nil && root.member("library") != nil
}

// Add reads a library file, {"library": NAME, "predicates": {"hostname": "this.matches('…')", …}}, whose predicates are
// then @NAME.hostname and so on. They are over this and self, as those in a schema are. A name that is there already
// must stand for the same.
func (e Expressions) Add(src []byte) error {
	if len(src) > maxSource {
		return refuse(predLimit, "$", fmt.Sprint(len(src), " bytes"), "at most 1 MiB")
	}
	root, r := parseJSON(src)
	if r != nil {
		r.Predicate, r.Phase = predJSON.Name, predJSON.Phase
		return r
	}
	p := parser{src: src}
	p.object(root, "$", "library", "predicates")
	p.need(root, "$", "library", "predicates")
	name := p.text(root, "$", "library")
	if p.bad != nil {
		return p.bad
	}
	if !identifier(name) {
		return refuse(predName, "$.library", clip(name), "an identifier")
	}
	list := root.member("predicates")
	if list.kind != '{' || len(list.items) > maxConditions {
		return refuse(predShape, "$.predicates", list.say(),
			fmt.Sprintf("an object of at most %d names", maxConditions))
	}
	found := Expressions{}
	for _, key := range list.keys {
		text := p.text(list, "$.predicates", key)
		if p.bad != nil {
			return p.bad
		}
		if err := checkNamed(key, text); err != nil {
			return err
		}
		if old, ok := e[name+"."+key]; ok && old != text {
			return refuse(predLibrary, "$.predicates."+key, "another expression than @"+name+"."+key+" has already",
				"one meaning for a name")
		}
		found[name+"."+key] = text
	}
	maps.Copy(e, found)
	return nil
}

// checkNamed refuses a predicate of a library that could be one of no schema.
func checkNamed(name, text string) error {
	path := "$.predicates." + name
	if !identifier(name) {
		return refuse(predName, path, clip(name), "an identifier")
	}
	if _, err := environment(condition.Dyn).Compile(text); err != nil {
		return refuse(predExpression, path, err.Error(), "CEL over this and self that yields a bool")
	}
	return nil
}

// expand puts expressions in the place of their names.
func (e Expressions) expand(d *document) {
	named := func(src string) string {
		if name, ok := strings.CutPrefix(src, "@"); ok && e[name] != "" {
			return e[name]
		}
		return src
	}
	fields := func(all []field) {
		for i := range all {
			for j := range all[i].Predicates {
				all[i].Predicates[j] = named(all[i].Predicates[j])
			}
		}
	}
	fields(d.Fields)
	for i := range d.Types {
		fields(d.Types[i].Fields)
	}
	for i := range d.Invariants {
		d.Invariants[i].Predicate = named(d.Invariants[i].Predicate)
	}
}

// ParseWith is Parse for a file that may also name predicates of libraries.
func ParseWith(src []byte, lib Library, named Expressions) (*Schema, error) {
	return parse(src, lib, named)
}
