package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/canon"
)

// model draws a random schema of several versions: its records gain, lose and rename fields from one to the next.
type model struct {
	t        *rapid.T
	version  int
	types    map[string]any
	enums    []string
	records  []string
	live     map[string][]map[string]any // fields of the record in the version drawn last
	fields   map[string][]any            // all its fields
	upgrades []any
	downs    []any
	ids      map[string]int
}

var scalars = []string{"bool", "int", "u64", "float", "bytes", "bytes<3>", "text", "verbatim"}

func drawSchema(t *rapid.T) *Schema {
	m := &model{t: t, version: 1, types: map[string]any{}, live: map[string][]map[string]any{},
		fields: map[string][]any{}, ids: map[string]int{}}
	for i := range rapid.IntRange(0, 2).Draw(t, "enums") {
		name := fmt.Sprintf("E%d", i)
		m.types[name] = map[string]any{"enum": []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "values")]}
		m.enums = append(m.enums, name)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "records") {
		m.records = append(m.records, fmt.Sprintf("R%d", i))
	}
	for _, in := range append([]string{""}, m.records...) {
		for range rapid.IntRange(1, 4).Draw(t, "fields") {
			m.add(in, m.drawType(), rapid.Bool().Draw(t, "required"))
		}
		m.need(in)
	}
	var changes []any
	for range rapid.IntRange(0, 3).Draw(t, "later versions") {
		m.version++
		m.upgrades, m.downs = []any{}, []any{}
		for _, in := range append([]string{""}, m.records...) {
			m.change(in)
		}
		changes = append(changes, map[string]any{"to": m.version, "upgrade": m.upgrades, "downgrade": m.downs})
	}
	for _, r := range m.records {
		m.types[r] = map[string]any{"fields": m.fields[r]}
	}
	doc := map[string]any{"name": "Random", "version": m.version, "fields": m.fields[""], "types": m.types,
		"changes": changes}
	for key, v := range doc {
		if s := fmt.Sprint(v); s == "[]" || s == "map[]" {
			delete(doc, key)
		}
	}
	src, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(src, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return s
}

// need makes every record reachable from the schema's own.
func (m *model) need(in string) {
	if in != "" {
		m.add("", fmt.Sprintf(rapid.SampledFrom([]string{"%s", "list<%s>", "map<text,list<%s>>"}).Draw(m.t, "use"), in),
			false)
	}
}

func (m *model) drawType() string {
	t := rapid.SampledFrom(append(append([]string{}, scalars...), m.enums...)).Draw(m.t, "type")
	switch rapid.IntRange(0, 5).Draw(m.t, "shape") {
	case 0:
		return "list<" + t + ">"
	case 1:
		return "map<text," + t + ">"
	case 2:
		if len(m.records) > 0 {
			return "map<text," + rapid.SampledFrom(m.records).Draw(m.t, "record") + ">"
		}
	}
	return t
}

func (m *model) add(in, typ string, required bool) map[string]any {
	m.ids[in]++
	f := map[string]any{"id": m.ids[in], "name": fmt.Sprintf("f%d", m.ids[in]), "type": typ, "required": required}
	if m.version > 1 {
		f["since"] = m.version
	}
	m.fields[in] = append(m.fields[in], f)
	m.live[in] = append(m.live[in], f)
	return f
}

// change draws what becomes of a record from one version to the next.
func (m *model) change(in string) {
	before := m.live[in]
	m.live[in] = nil
	var started []map[string]any
	for _, f := range before {
		if strings.Contains(f["type"].(string), "R") || rapid.IntRange(0, 2).Draw(m.t, "fate") > 0 {
			m.live[in] = append(m.live[in], f) // the records stay reachable
			continue
		}
		f["until"] = m.version
		up := map[string]any{"in": in, "drop": f["name"]}
		if rapid.Bool().Draw(m.t, "renamed") {
			to := m.add(in, converted(m.t, f["type"].(string)), rapid.Bool().Draw(m.t, "required"))
			started = append(started, to)
			up = map[string]any{"in": in, "rename": f["name"], "to": to["name"]}
		}
		m.upgrades = append(m.upgrades, cleaned(up))
		if f["required"] == true {
			// First the inverse of a rename, where there is one, then what remains.
			if to, ok := up["to"]; ok {
				m.downs = append(m.downs, cleaned(map[string]any{"in": in, "rename": to, "to": f["name"]}))
			}
			m.downs = append(m.downs, cleaned(map[string]any{"in": in, "default": f["name"],
				"value": zero(f["type"].(string))}))
		}
	}
	for range rapid.IntRange(0, 2).Draw(m.t, "started") {
		started = append(started, m.add(in, m.drawType(), rapid.Bool().Draw(m.t, "required")))
	}
	for _, f := range started {
		if f["required"] == true || rapid.Bool().Draw(m.t, "default anyway") {
			m.upgrades = append(m.upgrades, cleaned(map[string]any{"in": in, "default": f["name"],
				"value": zero(f["type"].(string))}))
		}
	}
}

func cleaned(rule map[string]any) map[string]any {
	if rule["in"] == "" {
		delete(rule, "in")
	}
	return rule
}

// converted draws a type that values of typ can be renamed to.
func converted(t *rapid.T, typ string) string {
	to := []string{typ, "list<" + typ + ">"}
	switch typ {
	case "int":
		to = append(to, "float", "u64", "text", "verbatim")
	case "u64":
		to = append(to, "int", "text")
	case "bool":
		to = append(to, "text")
	case "text":
		to = append(to, "verbatim", "int", "bool", "u64")
	case "verbatim":
		to = append(to, "text")
	case "float":
		to = append(to, "int")
	case "bytes<3>":
		to = append(to, "bytes")
	case "E0", "E1":
		to = append(to, "text")
	}
	return rapid.SampledFrom(to).Draw(t, "converted")
}

// zero is a JSON value of a type.
func zero(typ string) any {
	switch {
	case strings.HasPrefix(typ, "list"):
		return []any{}
	case strings.HasPrefix(typ, "map"):
		return map[string]any{}
	case typ == "bool":
		return false
	case typ == "int" || typ == "u64" || typ == "float":
		return 0
	case typ == "bytes<3>":
		return "AAAA"
	case strings.HasPrefix(typ, "E"):
		return "a"
	}
	return ""
}

// drawValue draws a value of a type, with fields nobody declared in some records.
func drawValue(t *rapid.T, typ *canon.Type, depth int) any {
	count := func() int {
		if depth <= 0 {
			return 0
		}
		return rapid.IntRange(0, 3).Draw(t, "count")
	}
	switch typ.Kind {
	case canon.Bool:
		return rapid.Bool().Draw(t, "bool")
	case canon.Int:
		return rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-maxSafe, maxSafe)).Draw(t, "int")
	case canon.Uint:
		return rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(t, "u64")
	case canon.Enum:
		return rapid.Uint64Range(0, uint64(len(typ.Names)-1)).Draw(t, "enum")
	case canon.Float:
		return rapid.OneOf(rapid.SampledFrom([]float64{0, 1, -1, 0.5, 1e300, math.NaN(), math.Inf(1),
			math.Copysign(0, -1)}), rapid.Float64()).Draw(t, "float")
	case canon.Bytes:
		n := typ.Len
		if n == 0 {
			n = rapid.IntRange(0, 5).Draw(t, "len")
		}
		return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes")
	case canon.Text:
		return rapid.SampledFrom([]string{"", "a", "12", "true", "é", "$x", "-7", "日本"}).Draw(t, "text")
	case canon.Verbatim:
		return rapid.SampledFrom([]string{"", "a", "e\u0301", "\u0000", "12"}).Draw(t, "verbatim")
	case canon.List:
		list := []any{}
		for range count() {
			list = append(list, drawValue(t, typ.Elem, depth-1))
		}
		return list
	case canon.Map:
		m := map[string]any{}
		for range count() {
			m[rapid.SampledFrom([]string{"", "a", "bb", "$k", "é"}).Draw(t, "key")] = drawValue(t, typ.Elem, depth-1)
		}
		return m
	}
	rec := record{}
	for _, f := range typ.Schema.Fields {
		if f.Presence == canon.Required || rapid.Bool().Draw(t, "present") {
			rec[f.ID] = drawValue(t, f.Type, depth-1)
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "unknown") == 0 {
		rec[99] = canon.Data(rapid.SampledFrom([]string{"\x01", "\xa1\x01\x02", "\xa1\x61a\xf6", "\xf9\x3c\x00"}).
			Draw(t, "raw"))
	}
	return rec
}

func drawBytes(t *rapid.T, s *Schema) []byte {
	b := encode(nil, s.typ, drawValue(t, s.typ, 4))
	if err := s.Check(b); err != nil {
		t.Fatalf("the model drew a bad value: %v", err)
	}
	return b
}

// shuffled writes JSON again with the members of objects in random order and random space.
func shuffled(t *rapid.T, src []byte) []byte {
	n, r := parseJSON(src)
	if r != nil {
		t.Fatal(r)
	}
	space := rapid.SampledFrom([]string{"", " ", "\n\t"})
	var write func(dst []byte, n *node) []byte
	write = func(dst []byte, n *node) []byte {
		dst = append(dst, space.Draw(t, "space")...)
		if n.kind != '{' && n.kind != '[' {
			return n.appendText(dst)
		}
		order := make([]int, len(n.items))
		for i := range order {
			order[i] = i
		}
		if n.kind == '{' {
			order = rapid.Permutation(order).Draw(t, "order")
		}
		dst = append(dst, n.kind)
		for i, k := range order {
			if i > 0 {
				dst = append(dst, ',')
			}
			if n.kind == '{' {
				dst = append(appendString(append(dst, space.Draw(t, "space")...), n.keys[k]), ':')
			}
			dst = write(dst, n.items[k])
		}
		return append(append(dst, space.Draw(t, "space")...), n.kind+2)
	}
	return append(write(nil, n), '\n')
}

// mustParse parses a schema that is known to be good.
func mustParse(t testing.TB, src string) *Schema {
	t.Helper()
	s, err := Parse([]byte(src), Library{"even": func(this any, _ map[string]any) error {
		if n, ok := this.(int64); ok && n%2 != 0 {
			return fmt.Errorf("%d is odd", n)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
