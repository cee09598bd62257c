package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/canon"
)

// ticket is a schema in which most things occur.
const ticket = `{
  "name": "Ticket", "version": 2,
  "fields": [
    {"id": 1, "name": "title", "type": "text", "required": true, "predicate": ["size(this) > 0", "size(this) < 20"]},
    {"id": 2, "name": "state", "type": "State", "required": true},
    {"id": 3, "name": "n", "type": "int", "predicate": "@even"},
    {"id": 4, "name": "steps", "type": "list<Step>"},
    {"id": 5, "name": "size", "type": "text", "required": true, "until": 2},
    {"id": 6, "name": "points", "type": "int", "since": 2, "required": true},
    {"id": 7, "name": "due", "type": "timestamp", "since": 2},
    {"id": 8, "name": "ratio", "type": "number"},
    {"id": 9, "name": "key", "type": "bytes<4>"},
    {"id": 10, "name": "big", "type": "u64"}
  ],
  "types": {
    "State": {"enum": ["open", "closed"]},
    "Step": {"fields": [
      {"id": 1, "name": "what", "type": "verbatim", "required": true},
      {"id": 2, "name": "cost", "type": "float", "predicate": "this >= 0.0"},
      {"id": 3, "name": "next", "type": "Step"}
    ]}
  },
  "invariants": [
    {"predicate": "self.state != 'closed' || !has(self.due)", "since": 2},
    {"in": "Step", "predicate": "!has(self.next) || has(self.cost)"}
  ],
  "changes": [{"to": 2,
    "upgrade": [{"rename": "size", "to": "points"}, {"default": "points", "value": 1, "when": "self.title != 'strict'"}, {"default": "points", "value": 2}],
    "downgrade": [{"rename": "points", "to": "size"}]}]
}`

// edit returns ticket with one piece replaced.
func edit(t testing.TB, old, new string) []byte {
	t.Helper()
	if strings.Count(ticket, old) != 1 {
		t.Fatalf("%q is in the schema %d times, want once", old, strings.Count(ticket, old))
	}
	return []byte(strings.Replace(ticket, old, new, 1))
}

var even = Library{"even": func(this any, _ map[string]any) error {
	if this.(int64)%2 != 0 {
		return errors.New("it is odd")
	}
	return nil
}}

// refusedBy fails unless err is a rejection by a predicate whose text contains want.
func refusedBy(t testing.TB, err error, predicate, want string) {
	t.Helper()
	var r *canon.Rejection
	switch {
	case !errors.As(err, &r):
		t.Errorf("got %v, want a refusal by %s", err, predicate)
	case r.Predicate != predicate || !strings.Contains(r.Error(), want):
		t.Errorf("got %v\nwant a refusal by %s with %q", r, predicate, want)
	case r.Phase == "" || r.Hint == "":
		t.Errorf("%v lacks a phase or a hint", r)
	default:
		saw(predicate)
	}
}

func TestBadSchemasAreRefusedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ old, new, predicate, want string }{
		{`"name": "Ticket",`, `"name": "Ticket"`, "schema.json", "line 2, column 20"},
		{`"version": 2`, `"version": 2, "version": 2`, "schema.json", "same key"},
		{`"name": "Ticket"`, `"name": "\ud800"`, "schema.json", "surrogate"},
		{`"name": "Ticket"`, `"name": "a b"`, "schema.name", "line 2, column 11"},
		{`"name": "Ticket"`, `"nmae": "Ticket"`, "schema.shape", `did you mean "name"?`},
		{`"name": "Ticket", `, ``, "schema.shape", `add "name"`},
		{`"name": "Ticket"`, `"schema": "xsd", "name": "Ticket"`, "schema.shape", `want "lode"`},
		{`"version": 2`, `"version": 0`, "schema.version", "from 1 up"},
		{`"version": 2`, `"version": 65`, "schema.limit", "at most 64 versions"},
		{`"version": 2`, `"version": 1.5`, "schema.shape", "an integer"},
		{`"version": 2`, `"version": -1`, "schema.shape", "an integer"},
		{`"version": 2`, `"version": "2"`, "schema.shape", "an integer"},
		{`{"id": 10, "name": "big"`, `{"id": 2, "name": "big"`, "schema.field-id",
			"id 2, which field state has at line 13, column 12"},
		{`{"id": 6, "name": "points"`, `{"id": 5, "name": "points"`, "schema.field-id",
			"which field size had until version 2"},
		{`{"id": 10, "name": "big"`, `{"id": 0, "name": "big"`, "schema.field-id", "from 1 to 126"},
		{`{"id": 10, "name": "big"`, `{"id": 127, "name": "big"`, "schema.field-id", "from 1 to 126"},
		{`"name": "big"`, `"name": "key"`, "schema.name", `"key" again`},
		{`"name": "big"`, `"name": "$big"`, "schema.name", "identifier"},
		{`"type": "u64"`, `"type": "u65"`, "schema.type", `did you mean "u64"?`},
		{`"type": "u64"`, `"type": "list<u64"`, "schema.type", "closing"},
		{`"type": "u64"`, `"type": "map<int,u64>"`, "schema.type", "keys are not text"},
		{`"type": "u64"`, `"type": "set<u64>"`, "schema.type", "set"},
		{`"type": "u64"`, `"type": "bytes<0>"`, "schema.type", "length"},
		{`"type": "u64"`, `"type": "enum"`, "schema.type", `declare it under "types"`},
		{`"type": "u64"`, `"type": "` + strings.Repeat("list<", 20) + "int" + strings.Repeat(">", 20) + `"`,
			"schema.type", "more than 16 deep"},
		{`"type": "u64"`, `"type": 7`, "schema.shape", "a string"},
		{`"type": "u64"`, `"type": "u64", "required": 1`, "schema.shape", "true or false"},
		{`"type": "u64"`, `"type": "u64", "since": 3`, "schema.version", "from 1 to 2"},
		{`"type": "u64"`, `"type": "u64", "since": 2, "until": 2`, "schema.version", "from 3 to 2"},
		{`"name": "next", "type": "Step"`, `"name": "next", "type": "Step", "required": true`, "schema.cycle",
			"holds itself"},
		{`"enum": ["open", "closed"]`, `"enum": ["open", "open"]`, "schema.name", "there once"},
		{`"enum": ["open", "closed"]`, `"enum": []`, "schema.shape", "at least one"},
		{`"enum": ["open", "closed"]`, `"enum": ["open"], "fields": []`, "schema.shape", "fields, or enum"},
		{`"enum": ["open", "closed"]`, `"enum": ["e\u0301"]`, "canon.nfc", "normalize"},
		{`"State": {"enum"`, `"int": {"enum"`, "schema.name", "no built-in type"},
		{`"predicate": "@even"`, `"predicate": "@odd"`, "schema.library", "Library"},
		{`"predicate": "@even"`, `"predicate": "this >"`, "schema.expression", "line 6, column"},
		{`"predicate": "@even"`, `"predicate": "this.size() > 1"`, "schema.expression", "does not take"},
		{`"predicate": "@even"`, `"predicate": "that > 1"`, "schema.expression", "no variable"},
		{`"predicate": "@even"`, `"predicate": "this > 1 || has(self.tilte)"`, "schema.expression",
			`did you mean "title"?`},
		{`"predicate": "@even"`, `"predicate": "has(self.due) || this > 1"`, "schema.expression",
			"self.due in version 1"},
		{`"predicate": "@even"`, `"predicate": "this"`, "schema.expression", "want bool"},
		{`"in": "Step", "predicate"`, `"in": "State", "predicate"`, "schema.type", "a record"},
		{`{"rename": "size", "to": "points"}, `, ``, "schema.change", `{"drop": "size"}`},
		{`, {"default": "points", "value": 2}`, ``, "schema.change", "required field points"},
		{`{"default": "points", "value": 2}`, `{"default": "points", "value": "two"}`, "field.type", "int"},
		{`{"default": "points", "value": 2}`, `{"default": "title", "value": "x"}`, "schema.change",
			"both versions have"},
		{`{"default": "points", "value": 2}`, `{"default": "pionts", "value": 2}`, "schema.change",
			`did you mean "points"?`},
		{`{"default": "points", "value": 2}`, `{"default": "points"}`, "schema.shape", "no one kind"},
		{`{"rename": "size", "to": "points"}`, `{"rename": "size", "to": "points", "in": "Step"}`, "schema.change",
			`"size"`},
		{`{"rename": "size", "to": "points"}`, `{"rename": "size", "to": "points", "in": "State"}`, "schema.change",
			`"State"`},
		{`{"rename": "points", "to": "size"}`, `{"drop": "points"}, {"default": "size", "value": 1}`, "field.type",
			"text"},
		{`"when": "self.title != 'strict'"`, `"when": "self.points > 1"`, "schema.expression",
			"self.points in version 1"},
		{`{"to": 2,`, `{"to": 3,`, "schema.version", "from 2 to 2"},
		{`"id": 7, "name": "due", "type": "timestamp"`, `"id": 7, "name": "due", "type": "Gone"`, "schema.type",
			`"Gone"`},
		{`{"id": 6, "name": "points", "type": "int"`, `{"id": 6, "name": "points", "type": "map<text,int>"`,
			"schema.change", "conversion"},
	} {
		t.Run(c.new, func(t *testing.T) {
			_, err := Parse(edit(t, c.old, c.new), even)
			refusedBy(t, err, c.predicate, c.want)
		})
	}
}

func TestHostileSchemasAreRefusedBeforeTheyCost(t *testing.T) {
	fields := func(n int, f func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, f(i))
		}
		return strings.Join(all, ",")
	}
	one := `{"id": 1, "name": "a", "type": "int"}`
	doc := func(fields, rest string) string {
		return `{"name": "H", "version": 1, "fields": [` + fields + `]` + rest + `}`
	}
	for name, c := range map[string]struct{ src, predicate string }{
		"nothing":      {``, "schema.json"},
		"null":         {`null`, "schema.shape"},
		"deep":         {strings.Repeat("[", 100_000), "schema.json"},
		"deep objects": {strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), "schema.json"},
		"huge":         {doc(one, "") + strings.Repeat(" ", maxSource), "schema.limit"},
		"no fields":    {doc("", ""), "schema.shape"},
		"too many fields": {doc(fields(200, func(i int) string {
			return fmt.Sprintf(`{"id": %d, "name": "f%d", "type": "int"}`, i+1, i)
		}), ""), "schema.limit"},
		"too many types": {doc(one, `, "types": {`+fields(300, func(i int) string {
			return fmt.Sprintf(`"T%d": {"enum": ["a"]}`, i)
		})+`}`), "schema.limit"},
		"long name": {doc(`{"id": 1, "name": "`+strings.Repeat("a", 200)+`", "type": "int"}`, ""), "schema.name"},
		"many predicates": {doc(`{"id": 1, "name": "a", "type": "int", "predicate": [`+fields(20, func(int) string {
			return `"true"`
		})+`]}`, ""), "schema.limit"},
		"large enum": {doc(one, `, "types": {"E": {"enum": [`+fields(2000, func(i int) string {
			return fmt.Sprintf(`"v%d"`, i)
		})+`]}}`), "schema.limit"},
		"cost": {doc(`{"id": 1, "name": "a", "type": "text", "predicate": "`+strings.Repeat("(", 60)+"true"+
			strings.Repeat(")", 60)+`"}`, ""), "schema.expression"},
		"ring of records": {doc(`{"id": 1, "name": "a", "type": "A"}`, `, "types": {`+fields(26, func(i int) string {
			return fmt.Sprintf(`"%c": {"fields": [{"id": 1, "name": "n", "type": "%c", "required": true}]}`, 'A'+i,
				'A'+(i+1)%26)
		})+`}`), "schema.cycle"},
		"conditions": {doc(fields(100, func(i int) string {
			return fmt.Sprintf(`{"id": %d, "name": "f%d", "type": "int", "predicate": [%s]}`, i+1, i,
				fields(6, func(k int) string {
					return fmt.Sprintf(`"this > %d"`, k)
				}))
		}), ""), "schema.limit"},
		"long conditions": {doc(fields(60, func(i int) string {
			return fmt.Sprintf(`{"id": %d, "name": "f%d", "type": "int", "predicate": "%s"}`, i+1, i,
				"true"+strings.Repeat(" && this > 1", 100))
		}), ""), "schema.limit"},
		"many parts": {strings.Replace(doc(one, `, "types": {`+fields(40, func(i int) string {
			return fmt.Sprintf(`"T%d": {"enum": [%s]}`, i, fields(1000, func(k int) string {
				return fmt.Sprintf(`"v%d"`, k)
			}))
		})+`}`), `"version": 1`, `"version": 2`, 1), "schema.limit"},
		"not UTF-8": {"{\"name\": \"\xff\"}", "schema.json"},
		"trailing":  {doc(one, "") + "{}", "schema.json"},
	} {
		_, err := Parse([]byte(c.src), nil)
		t.Run(name, func(t *testing.T) { refusedBy(t, err, c.predicate, "") })
	}
}

func TestLongChainOfRecordsIsFine(t *testing.T) {
	var types []string
	for i := range maxTypes - 1 {
		types = append(types, fmt.Sprintf(
			`"T%d": {"fields": [{"id": 1, "name": "n", "type": "T%d", "required": true}]}`, i, i+1))
	}
	types = append(types, fmt.Sprintf(`"T%d": {"fields": [{"id": 1, "name": "n", "type": "T0"}]}`, maxTypes-1))
	s := mustParse(t, `{"name": "H", "version": 1, "fields": [{"id": 1, "name": "a", "type": "T0"}], "types": {`+
		strings.Join(types, ",")+`}}`)
	if _, err := s.FromJSON([]byte(`{}`)); err != nil {
		t.Error(err)
	}
	_, err := s.FromJSON([]byte(`{"a":` + strings.Repeat(`{"n":`, 70) + "{}" + strings.Repeat("}", 71)))
	refusedBy(t, err, "canon.depth", "")
}

func TestBadValuesAreRefusedWithTheirPlace(t *testing.T) {
	s, err := Parse([]byte(ticket), even)
	if err != nil {
		t.Fatal(err)
	}
	good := `{"title": "a", "state": "open", "points": 3}`
	if _, err := s.FromJSON([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, predicate, want string }{
		{`"a"`, `""`, "schema.predicate", `at $.title (byte 10): got "" at line 1, column 11, want size(this) > 0`},
		{`"a"`, `"` + strings.Repeat("x", 20) + `"`, "schema.predicate", "size(this) < 20"},
		{`"a"`, `null`, "field.type", "null"},
		{`"a"`, `"e\u0301"`, "canon.nfc", "verbatim field"},
		{`"title": "a", `, ``, "field.missing", `add "title"`},
		{`"title"`, `"titel"`, "field.critical", `did you mean "title"?`},
		{`"open"`, `"opne"`, "field.enum", `did you mean "open"?`},
		{`3`, `3.5`, "text.number", "without a point"},
		{`3`, `"3"`, "field.type", "int"},
		{`3`, `9007199254740992`, "field.int-safe", ""},
		{`3`, `99999999999999999999`, "text.number", "write it as text"},
		{`3`, `3, "n": 7`, "schema.predicate", "it is odd"},
		{`3`, `3, "big": -1`, "text.number", "2^64-1"},
		{`3`, `3, "big": "18446744073709551616"`, "text.number", "2^64-1"},
		{`3`, `3, "key": "AAAA"`, "field.length", ""},
		{`3`, `3, "key": "AA=="`, "text.canonical", "base64url"},
		{`3`, `3, "ratio": "many"`, "field.type", "float"},
		{`3`, `3, "$100": {"$x": 1}`, "text.canonical", ""},
		{`3`, `3, "$10": 1`, "field.critical", ""},
		{`3`, `3, "size": "x"`, "field.critical", "a field of Ticket"},
		{`3`, `3, "steps": [{"what": "x"}, {"what": "y", "cost": -1}]`, "schema.predicate", "$.steps[1].cost"},
		{`3`, `3, "steps": [{"what": "x", "next": {"what": "y"}}]`, "schema.invariant", "$.steps[0]"},
		{`"open"`, `"closed", "due": 5`, "schema.invariant", "at $ "},
		{`3}`, `3`, "text.json", "line 1, column"},
	} {
		_, err := s.FromJSON([]byte(strings.Replace(good, c.old, c.new, 1)))
		refusedBy(t, err, c.predicate, c.want)
	}
}

// Each evaluation below is stopped by its own limit after tens of milliseconds. There must not be thousands of them.
func TestWorkOfPredicatesIsBounded(t *testing.T) {
	const all = "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a == b || c <= d))))"
	dear := mustParse(t, `{"name": "W", "version": 2, "fields": [{"id": 1, "name": "r", "type": "list<R>"}],
		"types": {"R": {"fields": [{"id": 1, "name": "l", "type": "list<int>", "required": true}, {"id": 2, "name": "n", "type": "int", "since": 2}]}},
		"invariants": [{"in": "R", "predicate": "`+all+`", "since": 2}],
		"changes": [{"to": 2, "upgrade": [{"in": "R", "default": "n", "value": 1, "when": "`+all+`"}]}]}`)
	cheap := mustParse(t, `{"name": "W", "version": 1, "fields": [{"id": 1, "name": "r", "type": "list<R>"}],
		"types": {"R": {"fields": [{"id": 1, "name": "l", "type": "list<int>", "required": true, "predicate": "size(this) < 10"}]}}}`)
	value := func(records, elements int) []byte {
		one := append([]byte{0xa1, 1}, canon.AppendArray(nil, elements)...)
		one = append(one, bytes.Repeat([]byte{0}, elements)...)
		return append(append([]byte{0xa1, 1}, canon.AppendArray(nil, records)...), bytes.Repeat(one, records)...)
	}
	if err := cheap.Check(value(50_000, 3)); err != nil {
		t.Errorf("a short predicate for each of many records: %v", err)
	}
	if err := dear.Check(value(30, 4)); err != nil {
		t.Errorf("a long predicate for each of some records: %v", err)
	}
	refusedBy(t, dear.Check(value(1000, 10)), "schema.limit", "fewer loops")
	_, err := dear.Upgrade(1, value(1000, 10))
	refusedBy(t, err, "schema.limit", "fewer loops")
}
