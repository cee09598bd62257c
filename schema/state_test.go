package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schema"
)

// The state of an agent is perdure.Data by name, and its schema is named by a perdure.Hash.
func TestAgentStateIsHeldToItsSchema(t *testing.T) {
	s, err := schema.Parse([]byte(`{"name": "State", "version": 1, "fields": [
		{"id": 1, "name": "phase", "type": "Phase", "required": true},
		{"id": 2, "name": "spent", "type": "float", "predicate": "this <= 10.0"},
		{"id": 3, "name": "seen", "type": "list<Item>"},
		{"id": 4, "name": "digest", "type": "bytes<2>"},
		{"id": 5, "name": "total", "type": "u64"}],
		"types": {"Phase": {"enum": ["search", "write"]}, "Item": {"fields": [
			{"id": 1, "name": "url", "type": "verbatim", "required": true}, {"id": 2, "name": "rank", "type": "int"}]}},
		"invariants": ["self.phase == 'search' || has(self.seen)"]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	intent := perdure.Intent{StateSchema: perdure.Hash(s.ID())}
	if intent.StateSchema.String() != s.ID().String() {
		t.Errorf("got %s, want %s", intent.StateSchema, s.ID())
	}
	for _, c := range []struct {
		vars map[string]any
		want string // empty: accepted
	}{
		{map[string]any{"phase": "search"}, ""},
		{map[string]any{"phase": "search", "spent": 3, "digest": []byte{1, 2}, "total": uint64(1 << 63)}, ""},
		{map[string]any{"phase": "write", "seen": []any{map[string]any{"url": "e\u0301", "rank": 1}}}, ""},
		{map[string]any{}, "field.missing"},
		{map[string]any{"phase": "sing"}, "field.enum"},
		{map[string]any{"phase": "search", "spent": 11.5}, "schema.predicate"},
		{map[string]any{"phase": "write"}, "schema.invariant"},
		{map[string]any{"phase": "search", "sepnt": 3}, "field.critical"},
		{map[string]any{"phase": "search", "$99": 3}, "field.critical"},
		{map[string]any{"phase": "search", "digest": []byte{1}}, "field.length"},
		{map[string]any{"phase": "write", "seen": []any{map[string]any{"rank": 1}}}, "field.missing"},
		{map[string]any{"phase": nil}, "field.type"},
	} {
		vars := map[string]perdure.Data{}
		for k, v := range c.vars {
			if vars[k], err = perdure.DataOf(v); err != nil {
				t.Fatal(err)
			}
		}
		err := s.CheckState(vars)
		var r *perdure.Rejection
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.vars, err)
		case c.want != "" && (!errors.As(err, &r) || r.Predicate != c.want || !errors.Is(err, perdure.ErrRejected)):
			t.Errorf("%v: got %v, want %s", c.vars, err, c.want)
		case r != nil && strings.Contains(r.Got, "line"):
			t.Errorf("%v: %v speaks of lines, and there are none", c.vars, r)
		}
	}
	if err := s.CheckState(map[string]perdure.Data{"phase": {0xff}}); !errors.Is(err, perdure.ErrRejected) {
		t.Errorf("got %v for data that is not canonical", err)
	}
}

func TestAStateMayComeAboutVariableByVariable(t *testing.T) {
	s := parseSchema(t, `{"schema": "lode", "name": "Trip", "version": 1, "fields": [
		{"id": 1, "name": "from", "type": "text", "required": true, "predicate": "size(this) == 3"},
		{"id": 2, "name": "to", "type": "text", "required": true},
		{"id": 3, "name": "seats", "type": "int"}],
		"invariants": ["self.from != self.to"]}`)
	r := new(schema.Registry)
	if err := r.Add(s); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		vars map[string]any
		want string
	}{
		{map[string]any{}, ""},
		{map[string]any{"from": "OSL"}, ""},
		{map[string]any{"seats": 2}, ""},
		{map[string]any{"from": "OSLO"}, "schema.predicate"},
		{map[string]any{"to": 3}, "field.type"},
		{map[string]any{"via": "CPH"}, "field.critical"},
		{map[string]any{"from": "OSL", "to": "OSL"}, "schema.invariant"},
		{map[string]any{"from": "OSL", "to": "CPH"}, ""},
	} {
		vars := map[string]perdure.Data{}
		for k, v := range c.vars {
			d, err := perdure.DataOf(v)
			if err != nil {
				t.Fatal(err)
			}
			vars[k] = d
		}
		var refused *perdure.Rejection
		switch err := r.CheckState(perdure.Hash(s.ID()), vars); {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.vars, err)
		case c.want != "" && (!errors.As(err, &refused) || refused.Predicate != c.want):
			t.Errorf("%v: got %v, want %s", c.vars, err, c.want)
		}
	}
}

func TestTheTextOfASchemaIsThatOfTheSameSchema(t *testing.T) {
	one, two := parseSchema(t, ticketOne), parseSchema(t, ticketTwo)
	r := new(schema.Registry)
	if err := r.Add(two); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*schema.Schema{one, two} {
		got, err := schema.FromText(perdure.Hash(s.ID()), r.Tell(perdure.Hash(s.ID())))
		if err != nil || got.ID() != s.ID() {
			t.Errorf("version %d: got %v, %v", s.Version(), got, err)
		}
	}
	if _, err := schema.FromText(perdure.Hash(one.ID()), r.Tell(perdure.Hash(two.ID()))); err == nil {
		t.Error("the text of another version is taken")
	}
	if r.Tell(perdure.Hash{1}) != nil {
		t.Error("a schema nobody knows is told")
	}
}

const ticketOne = `{"schema": "lode", "name": "Ticket", "version": 1, "fields": [
	{"id": 1, "name": "title", "type": "text", "required": true}]}`

const ticketTwo = `{"schema": "lode", "name": "Ticket", "version": 2, "fields": [
	{"id": 1, "name": "title", "type": "text", "required": true},
	{"id": 2, "name": "due", "type": "int", "required": true, "since": 2}],
	"changes": [{"to": 2, "upgrade": [{"default": "due", "value": 7}], "downgrade": []}]}`

func parseSchema(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func vars(t *testing.T, m map[string]any) map[string]perdure.Data {
	t.Helper()
	out := map[string]perdure.Data{}
	for k, v := range m {
		d, err := perdure.DataOf(v)
		if err != nil {
			t.Fatal(err)
		}
		out[k] = d
	}
	return out
}

func TestRegistryHoldsStateToTheVersionTheIntentNames(t *testing.T) {
	one, two := parseSchema(t, ticketOne), parseSchema(t, ticketTwo)
	var reg schema.Registry
	title, both := vars(t, map[string]any{"title": "x"}), vars(t, map[string]any{"title": "x", "due": 3})
	if err := reg.CheckState(perdure.Hash(one.ID()), title); !errors.Is(err, perdure.ErrIncapable) ||
		!strings.Contains(err.Error(), one.ID().String()+" is not known here; add its .lode file") {
		t.Errorf("unknown: got %v, want one that says what to do", err)
	}
	if err := reg.Add(two); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		s    *schema.Schema
		vars map[string]perdure.Data
		want bool
	}{{"version 1", one, title, true}, {"version 1 with what came later", one, both, false},
		{"version 2", two, both, true}, {"version 2 before what it requires came", two, title, true}} {
		err := reg.CheckState(perdure.Hash(c.s.ID()), c.vars)
		if (err == nil) != c.want || err != nil && (!errors.Is(err, perdure.ErrRejected) ||
			errors.Is(err, perdure.ErrIncapable)) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestStateIsUpcastWhenItIsReadAndStaysAsItWasWritten(t *testing.T) {
	one, two := parseSchema(t, ticketOne), parseSchema(t, ticketTwo)
	var reg schema.Registry
	if err := reg.Add(two); err != nil {
		t.Fatal(err)
	}
	written := vars(t, map[string]any{"title": "x"})
	before := string(written["title"])
	value, err := reg.StateAs(perdure.Hash(one.ID()), written, two)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := two.ToJSON(value); err != nil || string(got) != `{"due":7,"title":"x"}` {
		t.Errorf("got %s, %v", got, err)
	}
	if len(written) != 1 || string(written["title"]) != before {
		t.Error("reading changed what was written")
	}
	if _, err := reg.StateAs(perdure.Hash{1}, written, two); !errors.Is(err, perdure.ErrRejected) {
		t.Errorf("unknown: got %v", err)
	}
}
