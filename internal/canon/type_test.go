package canon

import (
	"strings"
	"testing"
)

// chain returns records of which each holds the next twice, in required fields.
func chain(n int, last *Type) *Type {
	t := last
	for range n {
		t = &Type{Kind: Record, Schema: &Schema{Name: "r", Fields: []Field{{ID: 1, Name: "a", Type: t},
			{ID: 2, Name: "b", Type: t}}}}
	}
	return t
}

func TestBadDescriptionsAreRefused(t *testing.T) {
	text := &Type{Kind: Text}
	record := func(f ...Field) *Type { return &Type{Kind: Record, Schema: &Schema{Name: "r", Fields: f}} }
	loop := record(Field{ID: 1, Name: "again"})
	loop.Schema.Fields[0].Type = loop
	for name, bad := range map[string]*Type{
		"nothing":           {},
		"list of nothing":   {Kind: List},
		"text of something": {Kind: Text, Elem: text},
		"record of nothing": {Kind: Record},
		"enum of nothing":   {Kind: Enum},
		"length of text":    {Kind: Text, Len: 1},
		"unknown kind":      {Kind: 99},
		"numbers fall":      {Kind: Enum, Names: []Name{{2, "a"}, {1, "b"}}},
		"two enum names":    {Kind: Enum, Names: []Name{{1, "a"}, {2, "a"}}},
		"ids fall":          record(Field{ID: 2, Name: "a", Type: text}, Field{ID: 1, Name: "b", Type: text}),
		"two names":         record(Field{ID: 1, Name: "a", Type: text}, Field{ID: 2, Name: "a", Type: text}),
		"no name":           record(Field{ID: 1, Type: text}),
		"dollar":            record(Field{ID: 1, Name: "$1", Type: text}),
		"name is not NFC":   record(Field{ID: 1, Name: "e\u0301", Type: text}),
		"id above 127":      record(Field{ID: 128, Name: "a", Type: text}),
		"no type":           record(Field{ID: 1, Name: "a"}),
		"presence":          record(Field{ID: 1, Name: "a", Type: text, Presence: 9}),
		"optional case": {Kind: Union, Schema: &Schema{Fields: []Field{{ID: 1, Name: "a", Type: text,
			Presence: Optional}}}},
		"holds itself":       loop,
		"holds itself below": chain(3, loop),
	} {
		if bad.Valid() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := chain(60, text).Valid(); err != nil { // ends, and in time
		t.Error(err)
	}
}

func TestBadStructsPanicAtFirstUse(t *testing.T) {
	for want, use := range map[string]func(){
		"not by a struct":   func() { For[int]("x").Type() },
		"only those, a tag": func() { For[struct{ A int64 }]("x").Type() },
		"no canonical form": func() {
			For[struct {
				A uint32 `canon:"1,a"`
			}]("x").Type()
		},
		"is for an optional field": func() {
			For[struct {
				A *int64 `canon:"1,a"`
			}]("x").Type()
		},
		"cannot be told from its zero": func() {
			For[struct {
				A string `canon:"1,a,optional"`
			}]("x").Type()
		},
		"unknown or contradicts": func() {
			For[struct {
				A []string `canon:"1,a,optional,omitzero"`
			}]("x").Type()
		},
		"holds no string": func() {
			For[struct {
				A bool `canon:"1,a,verbatim"`
			}]("x").Type()
		},
		"call RegisterUnion": func() {
			For[struct {
				A error `canon:"1,a"`
			}]("x").Type()
		},
		"is not above": func() {
			For[struct {
				A bool `canon:"1,a"`
				B bool `canon:"1,b"`
			}]("x").Type()
		},
		`is not "id,name"`: func() {
			For[struct {
				A bool `canon:"a"`
			}]("x").Type()
		},
		"of type canon.Reserved": func() {
			For[struct {
				A []byte `canon:",reserved"`
			}]("x").Type()
		},
		"registered twice": func() { RegisterUnion[trigger]("trigger") },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("got %q", got)
				}
			}()
			use()
		})
	}
}

func TestEveryPredicateIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Predicates {
		if seen[p.Name] || p.Meaning == "" || p.Hint == "" || p.Phase != PhaseStructure && p.Phase != PhaseField {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
	}
}
