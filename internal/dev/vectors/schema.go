package main

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/perdure/perdure/schema"
)

// lode reads a schema: a .lode file, or its binary form. With an earlier one, it must leave that as it was.
func (v *vector) lode(in []byte) error {
	read := schema.Parse
	if v.Form == "binary" {
		read = schema.FromCanonical
	}
	s, err := read(in, nil)
	if err != nil {
		return err
	}
	v.Binary, v.JSON = hex.EncodeToString(s.Canonical()), string(s.JSON())
	if v.Schema == "" {
		return nil
	}
	old, err := schema.Parse([]byte(v.Schema), nil)
	if err != nil {
		return fmt.Errorf("the earlier one: %w", err)
	}
	return s.Succeeds(old)
}

// typed reads a value under a schema, and moves it between versions if asked.
func (v *vector) typed(in []byte) error {
	s, err := schema.Parse([]byte(v.Schema), nil)
	if err != nil {
		return fmt.Errorf("its schema: %w", err)
	}
	at := s
	if v.From > 0 {
		if at, err = s.At(v.From); err != nil {
			return err
		}
	}
	value := in
	if v.Form == "text" {
		value, err = at.FromJSON(in)
	} else {
		err = at.Check(in)
	}
	switch {
	case err != nil:
	case v.From > 0:
		value, err = s.Upgrade(v.From, value)
	case v.To > 0:
		value, err = s.Downgrade(v.To, value)
	}
	v.Binary = hex.EncodeToString(value)
	return err
}

// vein reads a .vein file, of the fingerprint expected if one is.
func (v *vector) vein(in []byte) error {
	reg := new(schema.Registry)
	if v.Schema != "" {
		s, err := schema.Parse([]byte(v.Schema), nil)
		if err == nil {
			err = reg.Add(s)
		}
		if err != nil {
			return fmt.Errorf("its schema: %w", err)
		}
	}
	if v.Fingerprint != "" {
		want, err := schema.ParseHash(v.Fingerprint)
		if err == nil {
			_, err = schema.Restore(in, want, reg)
		}
		return err
	}
	text, err := schema.Decode(in, reg)
	v.JSON = string(text)
	return err
}

// veins reads a chain of .vein files.
func (v *vector) veins() error {
	var files []schema.File
	for i, text := range v.Files {
		b, err := hex.DecodeString(text)
		if err != nil {
			return err
		}
		files = append(files, schema.File{Name: fmt.Sprintf("%d.vein", i), Bytes: b})
	}
	_, err := schema.VerifyChain(files, nil)
	return err
}

// note is a schema as small as there is one, ticket one of two versions.
const (
	note   = `{"name":"Note","version":1,"fields":[{"id":1,"name":"text","type":"text","required":true,"predicate":"size(this) > 0"}]}`
	ticket = `{"name":"Ticket","version":2,"fields":[
{"id":1,"name":"size","type":"int","required":true,"until":2,"predicate":"this < 10"},
{"id":2,"name":"points","type":"int","required":true,"since":2,"predicate":"this > 0"},
{"id":3,"name":"due","type":"timestamp"},{"id":4,"name":"done","type":"bool"}],
"invariants":[{"predicate":"!has(self.done) || has(self.due)"}],
"changes":[{"to":2,"upgrade":[{"rename":"size","to":"points"}],"downgrade":[{"rename":"points","to":"size"}]}]}`
)

// compiled is a .vein file of a note.
func compiled(text string, parent schema.Hash) ([]byte, schema.Hash, error) {
	s, err := schema.Parse([]byte(note), nil)
	if err != nil {
		return nil, schema.Hash{}, err
	}
	file, err := schema.Compile(s, fmt.Appendf(nil, `{"text":%q}`, text), schema.Options{Embed: true, Parent: parent})
	if err != nil {
		return nil, schema.Hash{}, err
	}
	print, err := schema.Fingerprint(file)
	return file, print, err
}

// acceptedSchemas are schemas, values of them, and a chain of files.
func acceptedSchemas() ([]*vector, error) {
	a, h, err := compiled("a", schema.Hash{})
	if err != nil {
		return nil, err
	}
	b, _, err := compiled("b", h)
	if err != nil {
		return nil, err
	}
	file := binaryVector("vein-embedded", "vein", a, "a file that holds its schema")
	return []*vector{
		{Name: "schema-note", Why: "a schema as small as there is one", As: "schema", Form: "text", Text: note},
		{Name: "schema-ticket", Why: "two versions", As: "schema", Form: "text", Text: ticket},
		{Name: "schema-value", Why: "a value", As: "typed", Form: "text", Text: `{"points":3}`, Schema: ticket},
		{Name: "schema-value-up", Why: "a value of version 1 in version 2", As: "typed", Form: "text",
			Text: `{"size":3}`, Schema: ticket, From: 1},
		file,
		{Name: "vein-chain", Why: "two files, of which one names the other", As: "chain", Form: "binary",
			Files: []string{hex.EncodeToString(b), hex.EncodeToString(a)}},
	}, nil
}

// rejectedSchemas are refused by every predicate of package schema, but for the one that takes a collision of SHA-256.
func rejectedSchemas() ([]*vector, error) {
	var out []*vector
	for _, c := range []struct{ predicate, name, why, old, new string }{
		{"schema.json", "json", "a comma is missing", `"name":"Ticket",`, `"name":"Ticket"`},
		{"schema.shape", "shape", "a part that schemas do not have", `"version":2`, `"version":2,"fileds":[]`},
		{"schema.limit", "limit", "more versions than the limit", `"version":2`, `"version":65`},
		{"schema.name", "name", "two fields of one name at the same time", `"name":"done"`, `"name":"due"`},
		{"schema.field-id", "field-id", "the id of a field that ended is used again", `"id":2`, `"id":1`},
		{"schema.type", "type", "a type that is not there", `"type":"timestamp"`, `"type":"date"`},
		{"schema.cycle", "cycle", "a record holds itself", `"type":"timestamp"`, `"type":"R"`},
		{"schema.version", "field-version", "a field of a version that is not there yet", `"since":2`, `"since":3`},
		{"schema.expression", "expression", "an expression that yields no bool", `"this > 0"`, `"this + 1"`},
		{"schema.library", "library", "a predicate that nobody registered", `"this > 0"`, `"@even"`},
		{"schema.change", "change", "nobody says what becomes of a field that ends", `{"rename":"size","to":"points"}`,
			`{"default":"points","value":1}`},
	} {
		text := strings.Replace(ticket, c.old, c.new, 1)
		if c.name == "cycle" {
			text = strings.Replace(text, `"invariants"`,
				`"types":{"R":{"fields":[{"id":1,"name":"r","type":"R","required":true}]}},"invariants"`, 1)
		}
		out = append(out, (&vector{Name: "schema-" + c.name, Why: c.why, As: "schema", Form: "text", Text: text}).
			refused(c.predicate))
	}
	typed := func(predicate, name, why, text string) *vector {
		v := (&vector{Name: "schema-" + name, Why: why, As: "typed", Form: "text", Text: text, Schema: ticket}).
			refused(predicate)
		out = append(out, v)
		return v
	}
	typed("schema.predicate", "predicate", "a field's predicate does not hold", `{"points":0}`)
	typed("schema.invariant", "invariant", "what is done was due", `{"done":true,"points":1}`)
	typed("schema.upgrade", "upgrade", "what the later version needs does not hold", `{"size":-1}`).From = 1
	typed("schema.downgrade", "downgrade", "what the earlier version needs does not hold", `{"points":11}`).To = 1
	forged := typed("schema.complement", "complement", "field 127 holds no complement", "")
	forged.Form, forged.Text, forged.Hex, forged.From = "binary", "",
		hex.EncodeToString(record(fields{1: 3, 127: 1})), 1
	out = append(out, (&vector{Name: "schema-history",
		Why: "the predicate of a version that was published is another one", As: "schema", Form: "text",
		Text: strings.Replace(ticket, "this < 10", "this < 9", 1), Schema: ticket}).refused("schema.history"))
	more, err := rejectedVeins()
	return append(out, more...), err
}

// rejectedVeins are .vein files and chains of them.
func rejectedVeins() ([]*vector, error) {
	s, err := schema.Parse([]byte(note), nil)
	if err != nil {
		return nil, err
	}
	two, err := schema.Parse(
		[]byte(`{"name":"Two","version":1,"fields":[{"id":1,"name":"parentHash","type":"text"},{"id":2,"name":"b","type":"int"}]}`), nil)
	if err != nil {
		return nil, err
	}
	a, h, err := compiled("a", schema.Hash{})
	if err != nil {
		return nil, err
	}
	b, _, err := compiled("b", h)
	if err != nil {
		return nil, err
	}
	c, _, err := compiled("c", h)
	if err != nil {
		return nil, err
	}
	vein := func(s *schema.Schema, value raw, more fields) raw {
		id := s.ID()
		f := fields{0: "vein/1", 1: id[:], 2: value}
		for k, v := range more {
			f[k] = v
		}
		return record(f)
	}
	text := record(fields{1: "a"})
	reversed := record(fields{1: "Two", 2: 1, 3: []raw{record(fields{1: 2, 2: "b", 3: "int"}),
		record(fields{1: 1, 2: "a", 3: "int"})}})
	files := func(predicate, name, why string, all ...[]byte) *vector {
		v := &vector{Name: "vein-" + name, Why: why, As: "chain", Form: "binary"}
		for _, b := range all {
			v.Files = append(v.Files, hex.EncodeToString(b))
		}
		return v.refused(predicate)
	}
	restored := binaryVector("vein-fingerprint", "vein", b, "another file than the one expected").
		refused("schema.fingerprint")
	restored.Fingerprint = h.String()
	return []*vector{
		binaryVector("schema-canonical", "schema", reversed, "fields in another order").refused("schema.canonical"),
		binaryVector("vein-format", "vein", record(fields{0: "vein/2"}), "a format of the future").
			refused("schema.vein"),
		binaryVector("vein-unknown", "vein", vein(s, text, nil), "a schema that is neither in the file nor known").
			refused("schema.known"),
		binaryVector("vein-schema", "vein", vein(s, text, fields{4: raw(two.Canonical())}),
			"another schema than the one named").refused("schema.embedded"),
		binaryVector("vein-parent", "vein", vein(two, record(fields{}), fields{3: hash(nil), 4: raw(two.Canonical())}),
			"a parent beside a value that has a place for it").refused("schema.parent"),
		restored,
		files("schema.chain-break", "chain-break", "two files without a parent", a,
			vein(two, record(fields{}), fields{4: raw(two.Canonical())})),
		files("schema.chain-fork", "chain-fork", "two files name one parent", a, b, c),
		files("schema.chain-missing", "chain-missing", "the parent is not there", b),
	}, nil
}
