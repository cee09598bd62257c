package schema

import (
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/canon"
)

// expr is a type as written in a schema.
type expr struct {
	kind canon.Kind
	elem *expr  // of a list or map
	name string // of a declared type, whose kind is then canon.Record or canon.Enum once it is known
	size int    // of bytes, if fixed
}

// builtin gives the canonical spelling of each type that has no parts, and of its other spellings.
var builtin = map[string]canon.Kind{
	"bool": canon.Bool, "boolean": canon.Bool,
	"int": canon.Int, "int64": canon.Int, "integer": canon.Int, "long": canon.Int, "timestamp": canon.Int,
	"u64": canon.Uint, "uint64": canon.Uint,
	"float": canon.Float, "float64": canon.Float, "number": canon.Float, "double": canon.Float,
	"bytes": canon.Bytes, "text": canon.Text, "string": canon.Text, "verbatim": canon.Verbatim,
}

var spelling = map[canon.Kind]string{canon.Bool: "bool", canon.Int: "int", canon.Uint: "u64", canon.Float: "float",
	canon.Bytes: "bytes", canon.Text: "text", canon.Verbatim: "verbatim"}

// String returns the canonical spelling.
func (e *expr) String() string {
	switch {
	case e.name != "":
		return e.name
	case e.kind == canon.List:
		return "list<" + e.elem.String() + ">"
	case e.kind == canon.Map:
		return "map<text," + e.elem.String() + ">"
	case e.size > 0:
		return "bytes<" + strconv.Itoa(e.size) + ">"
	}
	return spelling[e.kind]
}

// leaf is the expression inside all lists and maps.
func (e *expr) leaf() *expr {
	for e.elem != nil {
		e = e.elem
	}
	return e
}

// parseType reads a type. What it does not understand it returns as the second result.
func parseType(s string, depth int) (*expr, string) {
	s = strings.TrimSpace(s)
	if depth > maxNesting {
		return nil, "a type nested more than " + strconv.Itoa(maxNesting) + " deep"
	}
	if elem, ok := strings.CutSuffix(s, "[]"); ok {
		return nested(canon.List, elem, depth)
	}
	head, rest, generic := strings.Cut(s, "<")
	head = strings.TrimSpace(head)
	if generic {
		inner, closed := strings.CutSuffix(rest, ">")
		if !closed {
			return nil, clip(s) + " without a closing >"
		}
		switch head {
		case "list", "array":
			return nested(canon.List, inner, depth)
		case "map":
			key, elem, both := strings.Cut(inner, ",")
			if k := strings.TrimSpace(key); !both || k != "text" && k != "string" {
				return nil, clip(s) + ", whose keys are not text"
			}
			return nested(canon.Map, elem, depth)
		case "bytes":
			n, err := strconv.Atoi(inner)
			if err != nil || n < 1 || n > maxSource || strconv.Itoa(n) != inner {
				return nil, clip(s) + ", whose length is no number from 1 up"
			}
			return &expr{kind: canon.Bytes, size: n}, ""
		}
		return nil, clip(s)
	}
	if k, ok := builtin[s]; ok {
		return &expr{kind: k}, ""
	}
	if !identifier(s) {
		return nil, clip(s)
	}
	return &expr{name: s}, ""
}

func nested(k canon.Kind, elem string, depth int) (*expr, string) {
	e, bad := parseType(elem, depth+1)
	if bad != "" {
		return nil, bad
	}
	return &expr{kind: k, elem: e}, ""
}

// identifier reports whether s is letters, digits and underscores, not starting with a digit.
func identifier(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i, c := range []byte(s) {
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// reservedName reports whether s cannot be the name of a declared type.
func reservedName(s string) bool {
	_, taken := builtin[s]
	return taken || s == "list" || s == "array" || s == "map" || s == "record" || s == "enum"
}
