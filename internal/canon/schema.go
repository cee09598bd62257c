package canon

import (
	"bytes"
	"strconv"
)

// The description of a Type inside the described form is a map of two:
//
//	"defs": a list of records, unions and enums, in the order they are first met from the root
//	"type": the root
//
// A type is the name of its kind; {"bytes": length}; {"list": type} or {"map": type}; or the index of a definition.
// A definition is {"enum": [[number, name], …]}, or {"record": name, "fields": […]}, or {"union": name, "fields": […]}
// with fields [id, name, type], and "optional" or "omitzero" as a fourth where it applies.

var presenceNames = [...]string{Required: "", Optional: "optional", OmitZero: "omitzero"}

// defs numbers the definitions reachable from t in the order they are first met.
func defs(t *Type, index map[*Type]int, list []*Type) []*Type {
	switch t.Kind {
	case List, Map:
		return defs(t.Elem, index, list)
	case Record, Union, Enum:
	default:
		return list
	}
	if _, ok := index[t]; ok {
		return list
	}
	index[t] = len(list)
	list = append(list, t)
	if t.Schema != nil {
		for i := range t.Schema.Fields {
			list = defs(t.Schema.Fields[i].Type, index, list)
		}
	}
	return list
}

// AppendSchema appends the description of t.
func AppendSchema(dst []byte, t *Type) []byte {
	index := map[*Type]int{}
	list := defs(t, index, nil)
	dst = AppendText(AppendMap(dst, 2), "defs")
	dst = AppendArray(dst, len(list))
	for _, d := range list {
		dst = appendDef(dst, d, index)
	}
	return appendType(AppendText(dst, "type"), t, index)
}

func appendType(dst []byte, t *Type, index map[*Type]int) []byte {
	switch t.Kind {
	case Record, Union, Enum:
		return AppendUint(dst, uint64(index[t]))
	case List, Map:
		return appendType(AppendText(AppendMap(dst, 1), t.Kind.String()), t.Elem, index)
	case Bytes:
		if t.Len > 0 {
			return AppendUint(AppendText(AppendMap(dst, 1), t.Kind.String()), uint64(t.Len))
		}
	}
	return AppendText(dst, t.Kind.String())
}

func appendDef(dst []byte, t *Type, index map[*Type]int) []byte {
	if t.Kind == Enum {
		dst = AppendText(AppendMap(dst, 1), t.Kind.String())
		dst = AppendArray(dst, len(t.Names))
		for _, n := range t.Names {
			dst = AppendText(AppendUint(AppendArray(dst, 2), n.Number), n.Name)
		}
		return dst
	}
	name := AppendText(AppendText(nil, t.Kind.String()), t.Schema.Name)
	dst = AppendMap(dst, 2)
	if t.Kind == Union {
		dst = append(dst, name...) // "union" is shorter than "fields", "record" comes after it
	}
	dst = AppendText(dst, "fields")
	dst = AppendArray(dst, len(t.Schema.Fields))
	for i := range t.Schema.Fields {
		f := &t.Schema.Fields[i]
		n := 3
		if f.Presence != Required {
			n = 4
		}
		dst = AppendText(AppendUint(AppendArray(dst, n), uint64(f.ID)), f.Name)
		dst = appendType(dst, f.Type, index)
		if f.Presence != Required {
			dst = AppendText(dst, presenceNames[f.Presence])
		}
	}
	if t.Kind == Record {
		dst = append(dst, name...)
	}
	return dst
}

// Agrees refuses a description that is not spelt as AppendSchema does, or says anything else than another one of what
// both know: fields, cases and names of enums that only one of them has are those of another version.
func Agrees(known, other []byte) error {
	if tooLarge(len(other), len(known)) {
		return rooted(reject(PredDescribedSchema, 0, Count(len(other), "bytes"),
			"a schema not many times as large as ours"))
	}
	if err := Check(DataType, other, Limits{}); err != nil {
		return err
	}
	a, r := typeOf(known)
	if r != nil {
		return r
	}
	b, r := typeOf(other)
	switch {
	case r != nil:
		return r
	case !bytes.Equal(AppendSchema(nil, b), other):
		return rooted(reject(PredDescribedSchema, 0, "another spelling of the schema", "the described form"))
	case !agree(a, b, map[[2]*Type]bool{}):
		return rooted(reject(PredDescribedSchema, 0, "another schema", a.title()))
	}
	return nil
}

const (
	// maxAgree bounds how many records, unions and enums are compared: a stranger's description may nest as many as it
	// has bytes.
	maxAgree = 1 << 12
	// A description is looked at if it has at most maxSchema bytes, or maxSchemaTimes those of our own.
	maxSchema      = 64 << 10
	maxSchemaTimes = 8
)

// tooLarge says whether a description is so much larger than our own that it is of nothing that is known here.
func tooLarge(other, known int) bool { return other > max(maxSchema, maxSchemaTimes*known) }

// agree reports whether two types say nothing else of what both know. Met are the definitions that were compared, or
// are being compared.
func agree(a, b *Type, met map[[2]*Type]bool) bool {
	if a.Kind != b.Kind || a.Len != b.Len {
		return false
	}
	switch a.Kind {
	case Record, Union, Enum:
		if pair := [2]*Type{a, b}; !met[pair] {
			met[pair] = true
			break
		}
		return true
	default:
	}
	if len(met) > maxAgree {
		return false
	}
	switch a.Kind {
	case List, Map:
		return agree(a.Elem, b.Elem, met)
	case Enum:
		for _, x := range a.Names {
			for _, y := range b.Names {
				if (x.Number == y.Number) != (x.Name == y.Name) {
					return false
				}
			}
		}
	case Record, Union:
		if a.Schema.Name != b.Schema.Name {
			return false
		}
		for i := range a.Schema.Fields {
			for j := range b.Schema.Fields {
				x, y := &a.Schema.Fields[i], &b.Schema.Fields[j]
				if (x.ID == y.ID) != (x.Name == y.Name) ||
					x.ID == y.ID && (x.Presence != y.Presence || !agree(x.Type, y.Type, met)) {
					return false
				}
			}
		}
	default: // the kind says it all
	}
	return true
}

// typeOf returns the type that schema, a checked schema-less value, describes. It does not mind definitions in another
// order, or too many: the caller compares with the one description.
func typeOf(schema []byte) (*Type, *Rejection) {
	m := schemaReader{cursor: cursor{b: schema}}
	t := m.document()
	if t != nil && m.bad == "" {
		if err := t.Valid(); err != nil {
			m.bad = err.Error()
		}
	}
	if m.bad != "" {
		return nil, reject(PredDescribedSchema, 0, m.bad, "the description of a type")
	}
	return t, nil
}

// schemaReader reads a description. The first thing it does not understand goes to bad, and reading ends.
type schemaReader struct {
	cursor
	defs []*Type
	bad  string
}

func (m *schemaReader) fail(what string) { // keeps the first
	if m.bad == "" {
		m.bad = what + " at byte " + strconv.Itoa(m.i) + " of the schema"
	}
}

// expect reads a head of the given major type and returns its argument.
func (m *schemaReader) expect(major byte) uint64 {
	if m.bad != "" {
		return 0
	}
	if m.i >= len(m.b) || m.b[m.i]>>5 != major {
		m.fail("something unexpected")
		return 0
	}
	_, n := m.head()
	return n
}

func (m *schemaReader) text() string {
	n := m.expect(majorText)
	if m.bad != "" {
		return ""
	}
	return string(m.take(n))
}

// key reads the given text.
func (m *schemaReader) key(want string) {
	if m.text() != want {
		m.fail("no " + want)
	}
}

func (m *schemaReader) document() *Type {
	if m.expect(majorMap) != 2 {
		m.fail("no map of defs and type")
	}
	m.key("defs")
	n := m.expect(majorList)
	if m.bad != "" {
		return nil
	}
	m.defs = make([]*Type, n) // the list has n elements: the description has been checked
	for i := range m.defs {
		m.defs[i] = new(Type)
	}
	for _, d := range m.defs {
		m.def(d)
	}
	m.key("type")
	return m.typ()
}

func (m *schemaReader) def(t *Type) {
	pairs := m.expect(majorMap)
	switch m.text() {
	case "enum":
		t.Kind = Enum
		for range m.expect(majorList) {
			if m.expect(majorList) != 2 {
				m.fail("no number and name")
			}
			number := m.expect(majorUint)
			t.Names = append(t.Names, Name{number, m.text()})
			if m.bad != "" {
				return
			}
		}
	case "union":
		t.Kind = Union
		t.Schema = &Schema{Name: m.text()}
		m.key("fields")
		t.Schema.Fields = m.fields()
	case "fields":
		t.Kind = Record
		t.Schema = &Schema{Fields: m.fields()}
		m.key("record")
		t.Schema.Name = m.text()
	default:
		m.fail("an unknown definition")
	}
	if pairs != 2 && t.Kind != Enum || pairs != 1 && t.Kind == Enum {
		m.fail("a definition of another size")
	}
}

func (m *schemaReader) fields() []Field {
	var fields []Field
	for range m.expect(majorList) {
		n := m.expect(majorList)
		id := m.expect(majorUint)
		if n < 3 || n > 4 || id > MaxReserved {
			m.fail("no field")
		}
		f := Field{ID: uint16(id), Name: m.text(), Type: m.typ()}
		if n == 4 {
			switch m.text() {
			case presenceNames[Optional]:
				f.Presence = Optional
			case presenceNames[OmitZero]:
				f.Presence = OmitZero
			default:
				m.fail("an unknown presence")
			}
		}
		if m.bad != "" {
			return nil
		}
		fields = append(fields, f)
	}
	return fields
}

// typ reads a type. Its nesting is bounded: the description has been checked under limits.
func (m *schemaReader) typ() *Type {
	if m.bad != "" || m.i >= len(m.b) {
		m.fail("no type")
		return nil
	}
	switch m.b[m.i] >> 5 {
	case majorUint:
		n := m.expect(majorUint)
		if n >= uint64(len(m.defs)) {
			m.fail("a definition that is not there")
			return nil
		}
		return m.defs[n]
	case majorMap:
		if m.expect(majorMap) != 1 {
			m.fail("no type")
		}
		switch m.text() {
		case "bytes":
			n := m.expect(majorUint)
			if n == 0 || n > DefaultBytes {
				m.fail("no length")
			}
			return &Type{Kind: Bytes, Len: int(n)}
		case "list":
			return &Type{Kind: List, Elem: m.typ()}
		case "map":
			return &Type{Kind: Map, Elem: m.typ()}
		}
		m.fail("no type")
		return nil
	}
	name := m.text()
	for _, k := range []Kind{Bool, Int, Uint, Float, Bytes, Text, Verbatim, Any, DataKind} {
		if k.String() == name {
			return &Type{Kind: k}
		}
	}
	m.fail("no type")
	return nil
}
