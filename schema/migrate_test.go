package schema

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/canon"
)

func fromJSON(t testing.TB, s *Schema, src string) []byte {
	t.Helper()
	b, err := s.FromJSON([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func toJSON(t testing.TB, s *Schema, value []byte) string {
	t.Helper()
	b, err := s.ToJSON(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func at(t testing.TB, s *Schema, version int) *Schema {
	t.Helper()
	old, err := s.At(version)
	if err != nil {
		t.Fatal(err)
	}
	return old
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRulesAreTriedInOrder(t *testing.T) {
	s, err := Parse([]byte(ticket), even)
	if err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{
		`{"title": "a", "state": "open", "size": "12"}`:          `{"points":12,"state":"open","title":"a"}`,
		`{"title": "a", "state": "open", "size": "large"}`:       `{"points":1,"state":"open","title":"a"}`,
		`{"title": "strict", "state": "open", "size": "large"}`:  `{"points":2,"state":"open","title":"strict"}`,
		`{"title": "a", "state": "open", "size": "1", "n": 2}`:   `{"n":2,"points":1,"state":"open","title":"a"}`,
		`{"title": "a", "state": "open", "size": "1", "$99": 1}`: `{"$99":1,"points":1,"state":"open","title":"a"}`,
	} {
		up, err := s.Upgrade(1, fromJSON(t, at(t, s, 1), old))
		if err != nil {
			t.Errorf("%s: %v", old, err)
		} else if got := toJSON(t, s, up); got != want {
			t.Errorf("%s: got %s, want %s", old, got, want)
		}
	}
}

func TestEditsOfTheOlderVersionWin(t *testing.T) {
	s, err := Parse([]byte(ticket), even)
	if err != nil {
		t.Fatal(err)
	}
	v1 := at(t, s, 1)
	down, err := s.Downgrade(1, fromJSON(t, s, `{"title": "a", "state": "open", "points": 8, "due": 1000}`))
	if err != nil {
		t.Fatal(err)
	}
	text := toJSON(t, v1, down)
	if !strings.Contains(text, `"size":"8"`) || !strings.Contains(text, `"$127"`) {
		t.Fatalf("got %s, want points renamed to size and the rest kept", text)
	}
	edited := fromJSON(t, v1, strings.Replace(strings.Replace(text, `"size":"8"`, `"size":"13"`, 1), `"title":"a"`,
		`"title":"b"`, 1))
	up, err := s.Upgrade(1, edited)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"due":1000,"points":13,"state":"open","title":"b"}`
	if got := toJSON(t, s, up); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A renamed field that the older version could not hold exactly is kept, but a change made there counts for more.
func TestEditsWinOverWhatWasKeptOfThem(t *testing.T) {
	s := mustParse(t, `{"name": "A", "version": 2, "fields": [
		{"id": 1, "name": "cents", "type": "int", "required": true, "until": 2},
		{"id": 2, "name": "amount", "type": "float", "required": true, "since": 2}, {"id": 3, "name": "note", "type": "text", "since": 2}],
		"changes": [{"to": 2, "upgrade": [{"rename": "cents", "to": "amount"}], "downgrade": [{"rename": "amount", "to": "cents"}, {"default": "cents", "value": -1}]}]}`)
	v1 := at(t, s, 1)
	v := fromJSON(t, s, `{"amount": 1.5, "note": "x"}`)
	down, err := s.Downgrade(1, v)
	if err != nil {
		t.Fatal(err)
	}
	text := toJSON(t, v1, down)
	if !strings.Contains(text, `"cents":-1`) {
		t.Fatalf("got %s, want the default for a float that is no integer", text)
	}
	for now, want := range map[string]string{`"cents":-1`: `{"amount":1.5,"note":"x"}`,
		`"cents":7`: `{"amount":7,"note":"x"}`} {
		up, err := s.Upgrade(1, fromJSON(t, v1, strings.Replace(text, `"cents":-1`, now, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := toJSON(t, s, up); got != want {
			t.Errorf("%s: got %s, want %s", now, got, want)
		}
	}
}

func TestConversionsKeepTheValueOrSayNo(t *testing.T) {
	for _, c := range []struct{ from, to, value, want string }{ // want "" is no
		{"int", "float", `-3`, `-3`},
		{"float", "int", `3`, `3`}, {"float", "int", `3.5`, ``}, {"float", "int", `1e300`, ``},
		{"float", "int", `"NaN"`, ``}, {"float", "int", `"Infinity"`, ``},
		{"int", "u64", `3`, `"3"`}, {"int", "u64", `-3`, ``},
		{"u64", "int", `"3"`, `3`}, {"u64", "int", `"9007199254740992"`, ``},
		{"int", "text", `-3`, `"-3"`}, {"text", "int", `"-3"`, `-3`}, {"text", "int", `"+3"`, ``},
		{"text", "int", `"9007199254740992"`, ``},
		{"u64", "text", `"18446744073709551615"`, `"18446744073709551615"`}, {"text", "u64", `"3"`, `"3"`},
		{"text", "u64", `"03"`, ``},
		{"bool", "text", `true`, `"true"`}, {"text", "bool", `"false"`, `false`}, {"text", "bool", `"no"`, ``},
		{"text", "verbatim", `"a"`, `"a"`}, {"verbatim", "text", `"\u00e9"`, `"é"`},
		{"verbatim", "text", `"e\u0301"`, ``},
		{"E", "text", `"b"`, `"b"`}, {"text", "E", `"b"`, `"b"`}, {"text", "E", `"x"`, ``}, {"E", "F", `"b"`, `"b"`},
		{"E", "F", `"a"`, ``},
		{"bytes<2>", "bytes", `"AAA"`, `"AAA"`}, {"bytes", "bytes<2>", `"AAA"`, `"AAA"`},
		{"bytes", "bytes<2>", `"AA"`, ``},
		{"text", "list<text>", `"a"`, `["a"]`}, {"list<text>", "text", `["a"]`, `"a"`},
		{"list<text>", "text", `["a","b"]`, ``}, {"list<text>", "text", `[]`, ``},
		{"map<text,E>", "map<text,E>", `{"x":"a"}`, `{"x":"a"}`},
	} {
		s := mustParse(t, `{"name": "C", "version": 2, "types": {"E": {"enum": ["a", "b"]}, "F": {"enum": ["b", "c"]}}, "fields": [
			{"id": 1, "name": "old", "type": "`+c.from+`", "required": true, "until": 2}, {"id": 2, "name": "new", "type": "`+c.to+`", "since": 2}],
			"changes": [{"to": 2, "upgrade": [{"rename": "old", "to": "new"}], "downgrade": [{"default": "old", "value": `+c.value+`}]}]}`)
		up, err := s.Upgrade(1, fromJSON(t, at(t, s, 1), `{"old": `+c.value+`}`))
		if err != nil {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
			continue
		}
		want := `{"new":` + c.want + `}`
		if c.want == "" {
			want = `{}`
		}
		if got := toJSON(t, s, up); got != want {
			t.Errorf("%s to %s: %s became %s, want %s", c.from, c.to, c.value, got, want)
		}
	}
}

// What the upgrade would add by itself is not added to a value that did not have it.
func TestAbsentStaysAbsent(t *testing.T) {
	s := mustParse(t, `{"name": "A", "version": 2, "fields": [{"id": 1, "name": "a", "type": "int"}, {"id": 2, "name": "b", "type": "int", "since": 2}],
		"changes": [{"to": 2, "upgrade": [{"default": "b", "value": 5}]}]}`)
	v := fromJSON(t, s, `{"a": 1}`)
	down, err := s.Downgrade(1, v)
	if err != nil {
		t.Fatal(err)
	}
	up, err := s.Upgrade(1, down)
	if err != nil || !bytes.Equal(up, v) {
		t.Errorf("got %x, %v, want %x", up, err, v)
	}
	if up, err = s.Upgrade(1, fromJSON(t, at(t, s, 1), `{"a": 1}`)); err != nil || toJSON(t, s, up) != `{"a":1,"b":5}` {
		t.Errorf("got %x, %v, want the default", up, err)
	}
}

func TestValueThatFitsNoVersionIsRefused(t *testing.T) {
	const src = `{"name": "P", "version": 2, "fields": [
		{"id": 1, "name": "a", "type": "int", "required": true, "until": 2, "predicate": "this < 10"},
		{"id": 2, "name": "b", "type": "int", "required": true, "since": 2, "predicate": "this > 0"}],
		"changes": [{"to": 2, "upgrade": [{"rename": "a", "to": "b"}]}]}`
	s := mustParse(t, src)
	_, err := s.Upgrade(1, fromJSON(t, at(t, s, 1), `{"a": -1}`))
	refusedBy(t, err, "schema.upgrade", "this > 0")
	_, err = s.Downgrade(1, fromJSON(t, s, `{"b": 11}`))
	refusedBy(t, err, "schema.downgrade", "this < 10")
	_, err = s.Upgrade(3, nil)
	refusedBy(t, err, "schema.known", "version 3")
	_, err = s.Downgrade(0, nil)
	refusedBy(t, err, "schema.known", "version 0")
	_, err = s.Upgrade(1, []byte{0xa0})
	refusedBy(t, err, "field.missing", "")
}

func TestForgedComplementsAreRefused(t *testing.T) {
	s, err := Parse([]byte(ticket), even)
	if err != nil {
		t.Fatal(err)
	}
	v1 := at(t, s, 1)
	rec := decode(v1.typ, fromJSON(t, v1, `{"title": "a", "state": "open", "size": "1"}`)).(record)
	forge := func(c complement) error {
		b, err := complements.Append(nil, &c)
		if err != nil {
			t.Fatal(err)
		}
		rec[Complement] = canon.Data(b)
		_, err = s.Upgrade(1, encode(nil, v1.typ, rec))
		return err
	}
	for name, c := range map[string]complement{
		"unknown field":   {Kept: []kept{{50, canon.Data{0x01}}}},
		"negative field":  {Kept: []kept{{-1, canon.Data{0x01}}}},
		"field past 127":  {Kept: []kept{{128, canon.Data{0x01}}}},
		"field past 2^16": {Kept: []kept{{1<<16 + 7, canon.Data{0x01}}}},
		"wrong type":      {Kept: []kept{{7, canon.Data{0x61, 'x'}}}},
	} {
		t.Run(name, func(t *testing.T) { refusedBy(t, forge(c), "schema.complement", "") })
	}
	rec[Complement] = canon.Data{0x01}
	_, err = s.Upgrade(1, encode(nil, v1.typ, rec))
	refusedBy(t, err, "schema.complement", "")
	// One that breaks a predicate of the newer version gets no further than any other value that does.
	state := complement{Kept: []kept{{7, canon.Data{0x05}}}}
	rec[2] = uint64(1) // closed, which must have no due
	refusedBy(t, forge(state), "schema.upgrade", "!has(self.due)")
	if err := forge(complement{Gone: []int{-1, 5000, 7}}); err != nil {
		t.Errorf("fields to leave out that are not there: %v", err)
	}
}

func TestRegistryKnowsAllVersionsAndKeepsHistory(t *testing.T) {
	var reg Registry
	v1, err := Parse(read(t, "memory-snapshot-v1.lode"), nil)
	if err != nil {
		t.Fatal(err)
	}
	v2, err := Parse(read(t, "memory-snapshot-v2.lode"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := v2.Succeeds(v1); err != nil {
		t.Fatal(err)
	}
	_, err = reg.Lookup(v1.ID())
	refusedBy(t, err, "schema.known", v1.ID().String())
	for _, s := range []*Schema{v2, v1, v2} {
		if err := reg.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*Schema{v1, v2} {
		if got, err := reg.Lookup(s.ID()); err != nil || got.Version() != s.Version() {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if got := reg.Latest("MemorySnapshot"); got != v2 {
		t.Errorf("the latest is version %d, want 2", got.Version())
	}
	// An id used again for something else, with the retired field left out of the file.
	reused := strings.Replace(string(read(t, "memory-snapshot-v2.lode")),
		`{ "id": 5, "name": "keys", "type": "string[]", "required": true, "until": 2 },`, ``, 1)
	reused = strings.Replace(strings.Replace(reused, `"id": 10, "name": "facts"`, `"id": 5, "name": "facts"`, 1),
		`{ "drop": "keys" },`, ``, 1)
	reused = strings.Replace(reused, `{ "default": "keys", "value": [] }`, ``, 1)
	bad, err := Parse([]byte(reused), nil)
	if err != nil {
		t.Fatal(err)
	}
	refusedBy(t, reg.Add(bad), "schema.history", "MemorySnapshot version 1")
	refusedBy(t, bad.Succeeds(v1), "schema.history", "MemorySnapshot version 1")
	refusedBy(t, v1.Succeeds(v2), "schema.history", "above version 2")

	value := fromJSON(t, v1, string(read(t, "snapshot-001.json")))
	up, err := reg.Upcast(v1.ID(), value, v2)
	if err != nil {
		t.Fatal(err)
	}
	down, err := reg.Upcast(v2.ID(), up, v1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(toJSON(t, v1, value), strings.Replace(toJSON(t, v1, down), `"keys":[]`,
		`"keys":["shelf","read"]`, 1)); diff != "" {
		t.Errorf("up and down (-want +got):\n%s", diff)
	}
	other := mustParse(t, `{"name": "Other", "version": 1, "fields": [{"id": 1, "name": "a", "type": "int"}]}`)
	_, err = reg.Upcast(v1.ID(), value, other)
	refusedBy(t, err, "schema.history", "Other")
	_, err = reg.Upcast(Hash{1}, value, v2)
	refusedBy(t, err, "schema.known", "")
}

// What somebody else calls a schema, and which version of another they say that it is, decides nothing about those that
// were added.
func TestASchemaKnownByItsIDTakesNoName(t *testing.T) {
	const one = `{"name": "T", "version": 1, "fields": [{"id": 1, "name": "a", "type": "int"}]}`
	two := func(name string) *Schema {
		return mustParse(t, `{"name": "T", "version": 2, "fields": [{"id": 1, "name": "a", "type": "int"},
			{"id": 2, "name": "`+name+`", "type": "int", "since": 2}], "changes": [{"to": 2}]}`)
	}
	var reg Registry
	theirs, other := two("theirs"), mustParse(t, `{"name": "T", "version": 3, "fields": [
		{"id": 1, "name": "z", "type": "int"}], "changes": [{"to": 2}, {"to": 3}]}`)
	reg.AddByID(theirs)
	reg.AddByID(other)
	if got := reg.Latest("T"); got != nil {
		t.Errorf("the latest is version %d of somebody else", got.Version())
	}
	three := mustParse(t, `{"name": "T", "version": 3, "fields": [{"id": 1, "name": "a", "type": "int"},
		{"id": 2, "name": "ours", "type": "int", "since": 2}], "changes": [{"to": 2}, {"to": 3}]}`)
	first := mustParse(t, one)
	for _, s := range []*Schema{first, two("ours"), three} {
		if err := reg.Add(s); err != nil {
			t.Fatal(err)
		}
		if got, err := reg.Version(first, "latest"); err != nil || got != s {
			t.Errorf("latest: %v, want version %d of ours", err, s.Version())
		}
	}
	for _, s := range []*Schema{theirs, other} {
		if got, err := reg.Lookup(s.ID()); err != nil || got != s {
			t.Errorf("by its id: %v", err)
		}
		if got, err := reg.Version(s, "latest"); err != nil || got != s {
			t.Errorf("latest of theirs: %v, want it as it is", err)
		}
	}
}
