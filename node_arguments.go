package perdure

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure/seal"
)

// ArgumentChecker is a Tool that takes only arguments in one clean form, so that policy and people judge exactly what
// the tool would do: of public/../private/x a rule about public/* sees the beginning, and the tool the end.
type ArgumentChecker interface {
	// CheckArgs refuses arguments that are not in their clean form, with an error that says which form is wanted. It is
	// asked before policy and before any person, depends on the arguments alone, and does nothing. Values that are
	// sealed, and references to secrets, are still in their place; the tool checks again when it is called.
	CheckArgs(args Data) error
}

const (
	// maxArgumentChecks bounds the work of holding arguments against a schema. The schema may be a stranger's, and a
	// small one that refers to itself twice asks for a check of every path through it.
	maxArgumentChecks = 1 << 18
	// maxSchemaDepth bounds schemas that refer to schemas: one that refers to itself never ends.
	maxSchemaDepth = 256
	// maxArgumentReason bounds what a denial repeats of names in arguments and schemas.
	maxArgumentReason = 1 << 10
	// maxToolName bounds the name of a tool: it is in every decision about it.
	maxToolName = 256
)

// CheckTools refuses tools of the node that cannot be told apart, or whose names are none. A name is what policy,
// people and the intent go by: of two tools with one name, one would be judged as the other.
func (n *Node) CheckTools() error {
	seen := make(map[string]Spec, len(n.Tools))
	for _, t := range n.Tools {
		spec := t.Spec()
		if !isToolName(spec.Name) {
			return fmt.Errorf("tool %q (%s): its name must have 1 to %d characters, all of them printable and none a "+
				"space",
				clipped(spec.Name, 64), clipped(spec.Description, 64), maxToolName)
		}
		if spec.Name == delegateTool { // a call of it would be judged as making a child
			return fmt.Errorf("tool %s (%s): an agent makes a child by that name; rename it", spec.Name,
				clipped(spec.Description, 64))
		}
		if other, ok := seen[spec.Name]; ok {
			return fmt.Errorf("two tools are named %s: one %q, the other %q; rename or leave out one of them",
				spec.Name, clipped(other.Description, 64), clipped(spec.Description, 64))
		}
		seen[spec.Name] = spec
	}
	return nil
}

func isToolName(name string) bool {
	bad := func(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	return name != "" && len(name) <= maxToolName && !strings.ContainsFunc(name, bad)
}

// argumentSchemas are the schemas of tools' arguments, read once. What is not canonical data is no schema.
func argumentSchemas(specs map[string]Spec) map[string]any {
	out := make(map[string]any, len(specs))
	for name := range specs {
		if args := specs[name].Args; len(args) > 0 && args.Valid() == nil {
			out[name] = args.Value()
		}
	}
	return out
}

// checkArguments says why a call is not even put to policy: its arguments do not fit the schema of the tool, or are not
// in the form the tool wants. A tool that is not here checks nothing; it is not called either.
func (n *Node) checkArguments(x *Execute) (err error) {
	defer func() {
		if p := recover(); p != nil {
			n.Log.Error("checking arguments panicked", "tool", x.Tool, "panic", fmt.Sprint(p), "stack",
				string(debug.Stack()))
			err = fmt.Errorf("checking them panicked: %v", p)
		}
	}()
	schema, tool := n.schemas[x.Tool], n.tool(x.Tool)
	checker, _ := tool.(ArgumentChecker)
	if schema == nil && checker == nil {
		return nil
	}
	if len(x.Args) > 0 {
		if err := x.Args.Valid(); err != nil {
			return err
		}
	}
	if schema != nil {
		if err := checkSchema(schema, x.Args); err != nil {
			return err
		}
	}
	if checker != nil {
		return checker.CheckArgs(x.Args)
	}
	return nil
}

// checkSchema holds arguments against a JSON Schema. It knows what says which fields there are and of what type: type,
// properties, required, additionalProperties, items, prefixItems, enum, const, allOf, anyOf, oneOf and references
// within the schema; and the bounds of numbers, and of how long texts, lists and objects are. The rest, such as
// patterns, is left to the tool, which looks again. It exists beside the validator of package tool
// because this one reads schemas of strangers: its work is bounded, sealed values pass, and no number loses digits.
func checkSchema(schema any, args Data) error {
	value := any(map[string]any{}) // no arguments, and null, are an empty object, as for policy
	if len(args) > 0 {
		if v := args.Value(); v != nil {
			value = v
		}
	}
	c := schemaCheck{root: schema, left: maxArgumentChecks, found: map[string]any{}}
	return c.check(schema, value, "", 0)
}

type schemaCheck struct {
	root  any
	left  int            // how many more checks
	found map[string]any // the schemas that were referred to; nil: there is none
}

// spend counts work that grows with the schema or the value, of which a check may have any amount: about as much as one
// check is without it counts as one.
func (c *schemaCheck) spend(checks int) { c.left -= checks }

// check holds a value against a schema. At is the path of the value; depth counts schemas within each other.
func (c *schemaCheck) check(schema, value any, at string, depth int) error {
	if c.left--; c.left < 0 || depth > maxSchemaDepth {
		c.left = 0 // no alternative is tried any more
		return fmt.Errorf("%stheir schema asks for more work than is done for one call", field(at))
	}
	if schema == false {
		return fmt.Errorf("%snothing fits here", field(at))
	}
	s, ok := schema.(map[string]any)
	if !ok || seal.Is(value) {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		target, met := c.found[ref]
		if !met {
			target = c.resolve(ref)
			c.found[ref] = target
		}
		c.spend(len(ref) >> 10)
		if target != nil {
			if err := c.check(target, value, at, depth+1); err != nil {
				return err
			}
		}
	}
	if err := c.checkType(s, value, at); err != nil {
		return err
	}
	if err := c.checkBounds(s, value, at); err != nil {
		return err
	}
	if err := c.checkAlternatives(s, value, at, depth); err != nil {
		return err
	}
	switch v := value.(type) {
	case map[string]any:
		return c.checkFields(s, v, at, depth)
	case []any:
		return c.checkItems(s, v, at, depth)
	}
	return nil
}

// resolve finds a schema within the schema by a JSON pointer; nil: there is none.
func (c *schemaCheck) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || (path != "" && path[0] != '/') {
		return nil
	}
	at := c.root
	for _, name := range strings.Split(path, "/")[1:] {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return at
}

// checkType holds a value against type, enum and const.
func (c *schemaCheck) checkType(s map[string]any, value any, at string) error {
	var types []string
	switch t := s["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, e := range t {
			if name, ok := e.(string); ok {
				types = append(types, name)
			}
		}
	}
	c.spend(len(types) >> 3)
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(t, value) }) {
		return fmt.Errorf("%swant %s, got %s", field(at), clipped(strings.Join(types, " or "), 64), typeOf(value))
	}
	allowed, ok := s["enum"].([]any)
	if v, has := s["const"]; has {
		allowed, ok = []any{v}, true
	}
	if ok && !c.isOneOf(value, allowed) {
		list := fmt.Sprintf("%v", allowed)
		c.spend(len(list) >> 7)
		return fmt.Errorf("%swant one of %s", field(at), clipped(list, 256))
	}
	return nil
}

// isOneOf reports whether a plain value is one of several; 1 and 1.0 are the same.
func (c *schemaCheck) isOneOf(value any, allowed []any) bool {
	c.spend(len(allowed) >> 3)
	text, isText := value.(string)
	var want string
	for _, one := range allowed {
		if other, ok := one.(string); ok || isText { // long texts are not written anew
			if ok && isText && other == text {
				return true
			}
			continue
		}
		if want == "" {
			want = c.json(value)
		}
		if got := c.json(one); got != "" && got == want {
			return true
		}
	}
	return false
}

// json is the one spelling of a value; empty if it has none.
func (c *schemaCheck) json(value any) string {
	d, err := DataOf(value)
	if err != nil {
		return ""
	}
	b := d.JSON()
	c.spend(1 + len(b)>>5)
	return string(b)
}

// isType reports whether a value is of a type of JSON Schema. Bytes are text in JSON.
func isType(t string, value any) bool {
	switch v := value.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string, []byte:
		return t == "string"
	case int64, uint64:
		return t == "integer" || t == "number"
	case float64:
		finite := !math.IsNaN(v) && !math.IsInf(v, 0)
		return finite && (t == "number" || t == "integer" && math.Trunc(v) == v)
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return true
}

// schemaBounds are the words of JSON Schema that bound a value by a number, what they bound, and which order of the
// value and its bound is refused.
var schemaBounds = []struct {
	word, of, want string
	out            func(order int) bool
}{
	{"minimum", "number", "at least %v", func(o int) bool { return o < 0 }},
	{"maximum", "number", "at most %v", func(o int) bool { return o > 0 }},
	{"exclusiveMinimum", "number", "more than %v", func(o int) bool { return o <= 0 }},
	{"exclusiveMaximum", "number", "less than %v", func(o int) bool { return o >= 0 }},
	{"minLength", "string", "at least %v characters", func(o int) bool { return o < 0 }},
	{"maxLength", "string", "at most %v characters", func(o int) bool { return o > 0 }},
	{"minItems", "array", "at least %v elements", func(o int) bool { return o < 0 }},
	{"maxItems", "array", "at most %v elements", func(o int) bool { return o > 0 }},
	{"minProperties", "object", "at least %v fields", func(o int) bool { return o < 0 }},
	{"maxProperties", "object", "at most %v fields", func(o int) bool { return o > 0 }},
}

// checkBounds holds a number, or how long a text, list or object is, against what bounds it.
func (c *schemaCheck) checkBounds(s map[string]any, value any, at string) error {
	of := "number"
	switch v := value.(type) {
	case string:
		if number(s["minLength"]) == nil && number(s["maxLength"]) == nil {
			return nil
		}
		c.spend(len(v) >> 10)
		if strings.Contains(v, "secret:") { // how long a secret is, only the tool sees
			return nil
		}
		of, value = "string", int64(utf8.RuneCountInString(v))
	case []any:
		of, value = "array", int64(len(v))
	case map[string]any:
		of, value = "object", int64(len(v))
	}
	n := number(value)
	if n == nil {
		return nil
	}
	for _, b := range schemaBounds {
		limit := number(s[b.word])
		if b.of == of && limit != nil && b.out(n.Cmp(limit)) {
			return fmt.Errorf("%swant "+b.want+", got %v", field(at), s[b.word], value)
		}
	}
	return nil
}

// number is a number exactly; nil: it is none.
func number(value any) *big.Float {
	switch v := value.(type) {
	case int64:
		return new(big.Float).SetInt64(v)
	case uint64:
		return new(big.Float).SetUint64(v)
	case float64:
		if !math.IsNaN(v) {
			return new(big.Float).SetFloat64(v)
		}
	}
	return nil
}

// typeOf is the type of a value for people, without what it says.
func typeOf(value any) string {
	for _, t := range []string{"null", "boolean", "string", "integer", "number", "array", "object"} {
		if isType(t, value) {
			return t
		}
	}
	return "what is no number"
}

// checkAlternatives holds a value against allOf, anyOf and oneOf. Of oneOf one that fits is enough: whether others fit,
// too, is for the tool to say.
func (c *schemaCheck) checkAlternatives(s map[string]any, value any, at string, depth int) error {
	all, _ := s["allOf"].([]any)
	for _, one := range all {
		if err := c.check(one, value, at, depth+1); err != nil {
			return err
		}
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		list, _ := s[name].([]any)
		var first error
		for i, one := range list {
			err := c.check(one, value, at, depth+1)
			if err == nil {
				first = nil
				break
			}
			if i == 0 || c.left <= 0 { // out of work is why, then
				first = err
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// checkFields holds an object against properties, required and additionalProperties, by name, so that the same
// arguments give the same reason.
func (c *schemaCheck) checkFields(s, value map[string]any, at string, depth int) error {
	known, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	c.spend((len(required) + len(known)) >> 3)
	for _, r := range required {
		if name, ok := r.(string); ok {
			if _, there := value[name]; !there {
				return fmt.Errorf("%sit is missing", field(below(at, name)))
			}
		}
	}
	more, limited := s["additionalProperties"]
	if _, patterns := s["patternProperties"]; patterns {
		limited = false
	}
	judged := known // whose names are judged
	if limited {
		c.spend(len(value) >> 1)
		judged = value
	}
	for _, name := range slices.Sorted(maps.Keys(judged)) {
		one, ok := known[name]
		_, there := value[name]
		switch {
		case !there:
			continue
		case ok:
		case more == false:
			return fmt.Errorf("%sthere is no such field; the fields are %s", field(below(at, name)), fieldNames(known))
		default:
			one = more
		}
		if err := c.check(one, value[name], below(at, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkItems holds a list against prefixItems and items.
func (c *schemaCheck) checkItems(s map[string]any, value []any, at string, depth int) error {
	first, _ := s["prefixItems"].([]any)
	rest, ok := s["items"]
	if list, old := rest.([]any); old { // as drafts before 2020-12 have it
		first, rest, ok = list, nil, false
	}
	for i := range value {
		one := rest
		if i < len(first) {
			one = first[i]
		} else if !ok {
			break
		}
		if err := c.check(one, value[i], at+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
			return err
		}
	}
	return nil
}

// field begins an error about a field.
func field(at string) string {
	if at == "" {
		return ""
	}
	return "field " + clipped(at, 256) + ": "
}

// below is the path of a field.
func below(at, name string) string {
	name = clipped(name, 64)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	if at == "" {
		return name
	}
	return at + "." + name
}

func fieldNames(known map[string]any) string {
	if len(known) == 0 {
		return "none"
	}
	return clipped(strings.Join(slices.Sorted(maps.Keys(known)), ", "), 256)
}

// clipped is the beginning of a text, whole characters of it.
func clipped(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
