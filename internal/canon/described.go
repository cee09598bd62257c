package canon

import (
	"bytes"
	"slices"
)

// ToDescribed appends the described form of bin to dst: a map of "value", the value with names in place of numbers, and
// "schema", the description of t. A schema-less value describes itself and is appended as it is. ToDescribed refuses
// bin if that is not a canonical value of type t.
func ToDescribed(dst []byte, t *Type, bin []byte) ([]byte, error) {
	if err := Check(t, bin, lenient(bin)); err != nil {
		return dst, err
	}
	if t.Kind == Any || t.Kind == DataKind {
		return append(dst, bin...), nil
	}
	return appendDescribed(dst, t, bin), nil
}

const (
	describedValue  = "value"
	describedSchema = "schema"
)

func appendDescribed(dst []byte, t *Type, bin []byte) []byte {
	w := describer{cursor: cursor{b: bin}, builder: builder{dst: AppendMap(dst, 2)}}
	w.dst = AppendText(w.dst, describedValue)
	w.value(t)
	w.dst = AppendText(w.dst, describedSchema)
	return AppendSchema(w.dst, t)
}

// FromDescribed appends the binary form of b, the described form of a value. If t is nil the value is read with the
// schema embedded in b, else that must agree with the description of t (Agrees), and the value be one of t. Only the
// exact described form is accepted: what ToDescribed would write, in the version whose schema it is.
func FromDescribed(dst []byte, t *Type, b []byte, lim Limits) ([]byte, error) {
	lim = lim.withDefaults()
	if t != nil && (t.Kind == Any || t.Kind == DataKind) {
		if err := Check(t, b, lim); err != nil {
			return dst, err
		}
		return append(dst, b...), nil
	}
	if err := Check(DataType, b, lim); err != nil {
		return dst, err
	}
	valueAt, schemaAt := parts(b)
	if schemaAt == 0 {
		return dst, rooted(reject(PredDescribedSchema, 0, "no map of value and schema", "the described form"))
	}
	embedded, r := expected(t, b[schemaAt:])
	if r != nil {
		r.Offset += int64(schemaAt)
		return dst, rooted(r.under("." + describedSchema))
	}
	d := undescriber{
		cursor: cursor{b: b, i: valueAt},
		walker: walker{b: b, items: lim.Items, depth: lim.Depth},
	}
	if r := d.named(embedded); r != nil {
		return dst, rooted(r.under("." + describedValue))
	}
	if err := Check(embedded, d.dst, lim); err != nil {
		return dst, err
	}
	// A schema can be described in more ways than one, in another order or with too much; this leaves one.
	if !bytes.Equal(appendDescribed(nil, embedded, d.dst), b) {
		return dst, rooted(reject(PredDescribedSchema, 0, "another spelling of the schema", "the described form"))
	}
	if t != nil {
		if err := Check(t, d.dst, lim); err != nil {
			return dst, err
		}
	}
	return append(dst, d.dst...), nil
}

// expected reads a description, which must agree with that of t if t is not nil.
func expected(t *Type, schema []byte) (*Type, *Rejection) {
	if t != nil && len(schema) > maxSchema && tooLarge(len(schema), len(AppendSchema(nil, t))) {
		return nil, reject(PredDescribedSchema, 0, Count(len(schema), "bytes"), t.title())
	}
	embedded, r := typeOf(schema)
	if r == nil && t != nil && !agree(t, embedded, map[[2]*Type]bool{}) {
		r = reject(PredDescribedSchema, 0, "another schema", t.title())
	}
	return embedded, r
}

// parts returns where the value and the schema start in b, a checked schema-less value; 0 if it has not exactly these.
func parts(b []byte) (value, schema int) {
	c := cursor{b: b}
	if major, n := c.head(); major != majorMap || n != 2 {
		return 0, 0
	}
	for _, name := range []string{describedValue, describedSchema} {
		major, n := c.head()
		if major != majorText || string(c.take(n)) != name {
			return 0, 0
		}
		value, schema = schema, c.i
		c.skip()
	}
	return value, schema
}

// title names t for messages.
func (t *Type) title() string {
	if t.Schema != nil && t.Schema.Name != "" {
		return "the schema of " + t.Schema.Name
	}
	return "the schema of a " + t.Kind.String()
}

// describer writes checked bytes with names in place of numbers.
type describer struct {
	cursor
	builder
}

func (w *describer) value(t *Type) {
	switch t.Kind {
	case Enum:
		_, n := w.head()
		name, _ := t.nameOf(n)
		w.dst = AppendText(w.dst, name)
	case List:
		_, n := w.head()
		w.dst = appendHead(w.dst, majorList, n)
		for range n {
			w.value(t.Elem)
		}
	case Map:
		_, n := w.head()
		w.dst = appendHead(w.dst, majorMap, n)
		for range n {
			w.copy()
			w.value(t.Elem)
		}
	case Record, Union:
		w.record(t.Schema)
	default:
		w.copy()
	}
}

// copy writes one value as it is.
func (w *describer) copy() {
	from := w.i
	w.skip()
	w.dst = append(w.dst, w.b[from:w.i]...)
}

func (w *describer) record(s *Schema) {
	_, n := w.head()
	from := len(w.dst)
	pairs := make([]pair, 0, n)
	for range n {
		next := pair{key: len(w.dst)}
		keyAt := w.i
		_, id := w.head()
		name, t := "", DataType
		if f := s.byID(id); f != nil {
			name, t = f.Name, f.Type
		} else {
			name = numberKey(w.b[keyAt:w.i])
		}
		w.dst = AppendText(w.dst, name)
		next.value = len(w.dst)
		w.value(t)
		next.end = len(w.dst)
		pairs = append(pairs, next)
	}
	_, _ = w.sorted(from, pairs, PredKeyDuplicate) // names differ, so nothing is refused
}

// undescriber reads a value written with names, in bytes checked as a schema-less value, into binary form. A walker
// judges everything that has no names in it.
type undescriber struct {
	cursor
	builder
	walker walker
	enums  map[*Type]map[string]uint64 // the numbers of long enums by name
}

func (d *undescriber) named(t *Type) *Rejection {
	at, c := d.i, d.b[d.i]
	switch t.Kind {
	case Enum:
		if c>>5 != majorText {
			return d.walker.mismatch(c, t, at)
		}
		name := d.text()
		if n, ok := d.number(t, name); ok {
			d.dst = AppendUint(d.dst, n)
			return nil
		}
		return reject(PredEnum, int64(at), clip(name), t.enumWant())
	case List:
		if c>>5 != majorList {
			return d.walker.mismatch(c, t, at)
		}
		return d.list(t)
	case Map, Record, Union:
		if c>>5 != majorMap {
			return d.walker.mismatch(c, t, at)
		}
		if t.Kind == Map {
			return d.textMap(t)
		}
		return d.record(t)
	}
	end, r := d.walker.value(t, at, nil)
	if r == nil {
		d.i = end
		d.dst = append(d.dst, d.b[at:end]...)
	}
	return r
}

// number is that of a name of an enum. A stranger's enum may have as many names as its values are.
func (d *undescriber) number(t *Type, name string) (uint64, bool) {
	if len(t.Names) <= 64 {
		i := slices.IndexFunc(t.Names, func(n Name) bool { return n.Name == name })
		if i < 0 {
			return 0, false
		}
		return t.Names[i].Number, true
	}
	numbers, ok := d.enums[t]
	if !ok {
		numbers = make(map[string]uint64, len(t.Names))
		for _, n := range t.Names {
			numbers[n.Name] = n.Number
		}
		if d.enums == nil {
			d.enums = map[*Type]map[string]uint64{}
		}
		d.enums[t] = numbers
	}
	n, ok := numbers[name]
	return n, ok
}

// text reads a text string.
func (d *undescriber) text() string {
	_, n := d.head()
	return str(d.take(n))
}

func (d *undescriber) list(t *Type) *Rejection {
	_, n := d.head()
	d.dst = appendHead(d.dst, majorList, n)
	for k := range n {
		if r := d.named(t.Elem); r != nil {
			return r.under(indexSegment(k))
		}
	}
	return nil
}

func (d *undescriber) textMap(t *Type) *Rejection {
	_, n := d.head()
	d.dst = appendHead(d.dst, majorMap, n)
	for range n {
		k, r := d.walker.textKey(d.i, false)
		if r != nil {
			return r
		}
		d.i = k.end
		d.dst = append(d.dst, d.b[k.from:k.end]...)
		if r := d.named(t.Elem); r != nil {
			return r.under(keySegment(string(d.b[k.content:k.end])))
		}
	}
	return nil
}

func (d *undescriber) record(t *Type) *Rejection {
	at, from := d.i, len(d.dst)
	_, n := d.head()
	var pairs []pair
	for range n {
		next := pair{key: len(d.dst), at: d.i}
		if c := d.b[d.i]; c>>5 != majorText {
			return reject(PredKeyType, int64(d.i), itemName(c), "a field name")
		}
		name := d.text()
		id, ft, r := fieldOf(t, name, next.at)
		if r != nil {
			return r
		}
		d.dst = AppendUint(d.dst, id)
		next.value = len(d.dst)
		if r := d.named(ft); r != nil {
			return r.under(keySegment(name))
		}
		next.end = len(d.dst)
		pairs = append(pairs, next)
	}
	return d.fields(t, at, from, pairs, PredKeyDuplicate)
}
