package main

import (
	"encoding/hex"
	"strings"

	"github.com/perdure/perdure/schema"
)

// order is a schema with every part: a record and an enum, invariants of both, every kind of rule and of conversion.
const order = `{"name":"Order","version":2,"fields":[
{"id":1,"name":"count","type":"int","required":true,"until":2},
{"id":2,"name":"label","type":"text","required":true,"since":2},
{"id":3,"name":"mark","type":"Colour","until":2},
{"id":4,"name":"marks","type":"list<Colour>","since":2},
{"id":5,"name":"ratio","type":"int","until":2},
{"id":6,"name":"share","type":"float","since":2},
{"id":7,"name":"code","type":"text","until":2},
{"id":8,"name":"number","type":"u64","since":2},
{"id":9,"name":"lines","type":"list<Line>"},
{"id":10,"name":"gone","type":"bytes<2>","until":2},
{"id":11,"name":"big","type":"bool","required":true,"since":2}],
"types":{"Colour":{"enum":["red","blue"]},
"Line":{"fields":[{"id":1,"name":"text","type":"verbatim","required":true,"predicate":["size(this) < 20","this != 'no'"]},
{"id":2,"name":"price","type":"int","until":2},{"id":3,"name":"cost","type":"int","since":2}]}},
"invariants":[{"predicate":"!has(self.lines) || size(self.lines) < 9","until":2},
{"predicate":"!has(self.lines) || self.lines.all(l, size(l.text) > 0)","since":2},
{"in":"Line","predicate":"self.text != ''","since":2}],
"changes":[{"to":2,"upgrade":[{"rename":"count","to":"label"},{"rename":"mark","to":"marks"},{"rename":"ratio","to":"share"},
{"rename":"code","to":"number"},{"drop":"gone"},{"default":"big","value":true,"when":"self.count > 9"},{"default":"big","value":false},
{"in":"Line","rename":"price","to":"cost"}],"downgrade":[{"rename":"label","to":"count"},{"default":"count","value":0}]}]}`

// acceptedLodes are what schema.md §1 says of numbers, rules and conversions.
func acceptedLodes() ([]*vector, error) {
	out := []*vector{{Name: "schema-order", Why: "every part of a schema: its numbers in the canonical form",
		As: "schema", Form: "text", Text: order}}
	add := func(name, why, text string, from, to int) {
		out = append(out, &vector{Name: "schema-order-" + name, Why: why, As: "typed", Form: "text", Text: text,
			Schema: order, From: from, To: to})
	}
	add("up", "int to text, an enum to a list of it, int to float, text to u64, and a default by a condition",
		`{"code":"17","count":12,"gone":"AAE","lines":[{"price":3,"text":"a"}],"mark":"blue","ratio":2}`, 1, 0)
	add("up-code", "a text that is not how a u64 is written does not become one: the field stays absent",
		`{"code":"017","count":1}`, 1, 0)
	add("down", "text to int, a list of one to its element, float to int, u64 to text",
		`{"big":false,"label":"7","marks":["red"],"number":"17","share":2}`, 0, 1)
	add("down-kept", "what the earlier version cannot hold is kept in field 127",
		`{"big":true,"label":"seven","marks":["red","blue"],"share":0.5}`, 0, 1)
	chain, err := goneChain()
	return append(out, chain), err
}

// goneChain is a chain of two, of which the first value is gone.
func goneChain() (*vector, error) {
	a, h, err := compiled("a", schema.Hash{})
	if err != nil {
		return nil, err
	}
	b, _, err := compiled("b", h)
	if err != nil {
		return nil, err
	}
	v, err := schema.Open(a, nil)
	if err != nil {
		return nil, err
	}
	place, err := schema.Retire(v, len(a), at(0))
	return &vector{Name: "vein-gone", Why: "the first of two values is gone: its place is left", As: "chain",
		Form:  "binary",
		Files: []string{hex.EncodeToString(b), hex.EncodeToString(place)}}, err
}

// rejectedLodes are expressions outside the dialect.
func rejectedLodes() []*vector {
	var out []*vector
	for _, c := range []struct{ predicate, name, why, expression string }{
		{"schema.expression", "zone", "a time zone by name", `timestamp(this).getHours('Europe/Berlin') > 1`},
		{"schema.expression", "regexp", "a regular expression that is no literal",
			`string(this).matches(string(this))`},
		{"schema.expression", "message", "a message literal", `google.protobuf.Int64Value{value: 1} == this`},
		{"schema.expression", "nesting", "five loops inside each other",
			`[1].all(a, [1].all(b, [1].all(c, [1].all(d, [1].all(e, this > 0)))))`},
		{"schema.expression", "length", "more than 4096 bytes", strings.Repeat("this > 0 && ", 400) + "true"},
	} {
		text := strings.Replace(ticket, `"this > 0"`, `"`+c.expression+`"`, 1)
		out = append(out, (&vector{Name: "schema-cel-" + c.name, Why: c.why, As: "schema", Form: "text", Text: text}).
			refused(c.predicate))
	}
	return out
}
