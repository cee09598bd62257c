package schema

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/canon"
)

func TestPredicatesReadEveryType(t *testing.T) {
	for _, c := range []struct{ typ, predicate, good, bad string }{
		{"bool", "this", `true`, `false`},
		{"int", "this % 2 == 0", `4`, `5`},
		{"u64", "this < 18446744073709551615u", `"7"`, `"18446744073709551615"`},
		{"float", "this < 1.5", `1`, `2`},
		{"bytes", "size(this) == 3", `"AAAA"`, `"AA"`},
		{"text", "this.startsWith('a')", `"ab"`, `"ba"`},
		{"verbatim", "this.matches('^[a-z]+$')", `"ab"`, `"AB"`},
		{"E", "this == 'a' || self.x != 'b'", `"a"`, `"b"`},
		{"list<E>", "this.all(e, e == 'a')", `["a", "a"]`, `["a", "b"]`},
		{"map<text,int>", "has(this.k) && this.k > 1", `{"k": 2}`, `{"k": 1}`},
		{"R", "this.n > 1", `{"n": 2}`, `{"n": 1}`},
		{"list<R>", "this.exists(r, r.n == 3)", `[{"n": 1}, {"n": 3}]`, `[]`},
		// R's own predicate
		{"map<text,list<R>>", "size(this) == 1 && '''x''' != self.x", `{"k": [{"n": 2}]}`, `{"k": [{"n": -2}]}`},
	} {
		s := mustParse(t, `{"name": "P", "version": 1, "fields": [{"id": 1, "name": "x", "type": "`+c.typ+`", "predicate": "`+c.predicate+`"}],
			"types": {"E": {"enum": ["a", "b"]}, "R": {"fields": [{"id": 1, "name": "n", "type": "int", "predicate": "this > -1"}]}}}`)
		if _, err := s.FromJSON([]byte(`{"x": ` + c.good + `}`)); err != nil {
			t.Errorf("%s: %v", c.typ, err)
		}
		_, err := s.FromJSON([]byte(`{"x": ` + c.bad + `}`))
		refusedBy(t, err, "schema.predicate", "")
		if _, err := s.FromJSON([]byte(`{}`)); err != nil {
			t.Errorf("%s: a predicate was asked about an absent field: %v", c.typ, err)
		}
	}
}

func TestExpressionThatCannotBeEvaluatedRefuses(t *testing.T) {
	s := mustParse(t, `{"name": "P", "version": 1, "fields": [{"id": 1, "name": "a", "type": "int"}, {"id": 2, "name": "b", "type": "int"}],
		"invariants": ["self.a < self.b"]}`)
	if _, err := s.FromJSON([]byte(`{"a": 1, "b": 2}`)); err != nil {
		t.Error(err)
	}
	_, err := s.FromJSON([]byte(`{"a": 1}`))
	refusedBy(t, err, "schema.invariant", "test for it first with has")
}

func TestStateKeepsOddFloats(t *testing.T) {
	s := mustParse(t, `{"name": "F", "version": 1, "fields": [{"id": 1, "name": "f", "type": "float", "required": true}]}`)
	for _, f := range []float64{0, 1, 0.1, 1e300, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
		d, err := canon.DataOf(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.State(map[string]canon.Data{"f": d})
		if err != nil {
			t.Fatal(err)
		}
		if want := append([]byte{0xa1, 1}, d...); !cmp.Equal(got, want) {
			t.Errorf("%v: got %x, want %x", f, got, want)
		}
	}
}

func TestFilesThatMeanTheSameHaveOneID(t *testing.T) {
	one := mustParse(t, `{"name": "A", "version": 1, "fields": [{"id": 1, "name": "a", "type": "text", "predicate": "true"}, {"id": 2, "name": "b", "type": "list<int>"},
		{"id": 3, "name": "c", "type": "map<text,float>"}]}`)
	two := mustParse(t, `{"schema": "lode", "description": "the same", "name": "A", "version": 1, "invariants": [], "changes": [], "types": {"Unused": {"enum": ["x"]}}, "fields": [
		{"id": 3, "name": "c", "type": " map< string , number > ", "required": false},
		{"id": 2, "name": "b", "type": "int64[]", "since": 1, "description": "numbers"},
		{"id": 1, "name": "a", "type": "string", "predicate": ["true"]}]}`)
	if one.ID() != two.ID() {
		t.Errorf("got %s and %s\n%s\n%s", one.ID(), two.ID(), one.JSON(), two.JSON())
	}
	seen := map[Hash]bool{}
	for _, other := range []string{
		`{"name": "B", "version": 1, "fields": [{"id": 1, "name": "a", "type": "text"}]}`,
		`{"name": "B", "version": 2, "fields": [{"id": 1, "name": "a", "type": "text"}]}`,
		`{"name": "B", "version": 1, "fields": [{"id": 2, "name": "a", "type": "text"}]}`,
		`{"name": "B", "version": 1, "fields": [{"id": 1, "name": "b", "type": "text"}]}`,
		`{"name": "B", "version": 1, "fields": [{"id": 1, "name": "a", "type": "verbatim"}]}`,
		`{"name": "B", "version": 1, "fields": [{"id": 1, "name": "a", "type": "text", "required": true}]}`,
		`{"name": "B", "version": 1, "fields": [{"id": 1, "name": "a", "type": "text", "predicate": "true"}]}`,
		`{"name": "B", "version": 1, "fields": [{"id": 1, "name": "a", "type": "text"}], "invariants": ["true"]}`,
	} {
		id := mustParse(t, other).ID()
		if seen[id] {
			t.Errorf("%s has the id of another schema", other)
		}
		seen[id] = true
	}
}

func TestHashesAreWrittenAsHex(t *testing.T) {
	b, err := json.Marshal(Link{Name: "a", Fingerprint: Hash{0xab}})
	if err != nil {
		t.Fatal(err)
	}
	var got Link
	if err := json.Unmarshal(b, &got); err != nil || got.Fingerprint != (Hash{0xab}) {
		t.Errorf("%s: got %v, %v", b, got, err)
	}
	refusedBy(t, new(Hash).UnmarshalText([]byte("ab")), "schema.parent", "64 hex digits")
}
