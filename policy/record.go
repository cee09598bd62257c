package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// value is a fact without a type of the schema yet: what Facts holds in maps, laid out so that deciding need not make
// any.
type value struct {
	kind valueKind
	num  int64   // of a number, and 1 for true
	text string  // of a text; of other data its canonical bytes
	rec  []named // of a record, ascending in the order of canonical bytes; of a list, without names
}

type named struct {
	name string
	value
}

type valueKind uint8

const (
	isBool valueKind = iota + 1
	isLong
	isText
	isList
	isRecord
	isOther // whatever else arguments hold
)

func truth(b bool) value {
	if b {
		return value{kind: isBool, num: 1}
	}
	return value{kind: isBool}
}

func number(n int64) value { return value{kind: isLong, num: n} }
func text(s string) value  { return value{kind: isText, text: s} }

// arena is where the facts of one decision lie: they are many and small, and none outlives it.
type arena struct{ all, free []named }

var arenas = sync.Pool{New: func() any { return &arena{} }}

// arenaSize is enough for the facts of any action but for long lists.
const arenaSize = 128

// room is space for facts.
func (ar *arena) room(n int) []named {
	if len(ar.free) < n {
		ar.all = make([]named, max(n, arenaSize))
		ar.free = ar.all
	}
	out := ar.free[:n:n]
	ar.free = ar.free[n:]
	return out
}

// list is these facts in the arena.
func (ar *arena) list(facts []named) []named {
	out := ar.room(len(facts))
	copy(out, facts)
	return out
}

// reset empties the arena. Nothing in it may be used any more.
func (ar *arena) reset() {
	clear(ar.all[:len(ar.all)-len(ar.free)])
	ar.free = ar.all
}

// release empties the arena and gives it back, unless it grew beyond what most decisions need.
func (ar *arena) release() {
	if ar.reset(); len(ar.all) <= arenaSize {
		arenas.Put(ar)
	}
}

func (ar *arena) texts(list []string) value {
	v := value{kind: isList, rec: ar.room(len(list))}
	for i, s := range list {
		v.rec[i].value = text(s)
	}
	return v
}

// record is a record of facts, each part of which is in the order of compareNames.
func (ar *arena) record(parts ...[]named) value {
	total := 0
	for _, p := range parts {
		total += len(p)
	}
	if len(parts) > 0 && total == len(parts[0]) {
		return value{kind: isRecord, rec: parts[0]}
	}
	out := ar.room(total)[:0]
	for len(out) < total {
		next := -1
		for i, p := range parts {
			if len(p) > 0 && (next < 0 || compareNames(p[0].name, parts[next][0].name) < 0) {
				next = i
			}
		}
		out, parts[next] = append(out, parts[next][0]), parts[next][1:]
	}
	return value{kind: isRecord, rec: out}
}

// compareNames is the order of keys in canonical bytes.
func compareNames(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func sorted(fields []named) []named {
	slices.SortFunc(fields, func(a, b named) int { return compareNames(a.name, b.name) })
	return fields
}

// field is a fact of a record; of kind zero when there is none.
func (v *value) field(name string) *value {
	for i := range v.rec {
		if v.kind == isRecord && v.rec[i].name == name {
			return &v.rec[i].value
		}
	}
	return &value{}
}

// valueOf is a fact out of a map of facts.
func valueOf(v any) (value, error) {
	switch v := v.(type) {
	case bool:
		return truth(v), nil
	case int64:
		return number(v), nil
	case string:
		return text(v), nil
	case []any:
		list := value{kind: isList, rec: make([]named, len(v))}
		for i := range v {
			var err error
			if list.rec[i].value, err = valueOf(v[i]); err != nil {
				return value{}, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return list, nil
	case map[string]any:
		fields := make([]named, 0, len(v))
		for name, e := range v {
			f, err := valueOf(e)
			if err != nil {
				return value{}, fmt.Errorf("%s: %w", name, err)
			}
			fields = append(fields, named{name, f})
		}
		return value{kind: isRecord, rec: sorted(fields)}, nil
	}
	return other(perdure.DataOf(v))
}

func other(d perdure.Data, err error) (value, error) {
	return value{kind: isOther, text: string(d)}, err
}

// plain is the fact as a map of facts has it.
func (v *value) plain() any {
	switch v.kind {
	case isBool:
		return v.num != 0
	case isLong:
		return v.num
	case isText:
		return v.text
	case isList:
		list := make([]any, len(v.rec))
		for i := range v.rec {
			list[i] = v.rec[i].plain()
		}
		return list
	case isRecord:
		m := make(map[string]any, len(v.rec))
		for i := range v.rec {
			m[v.rec[i].name] = v.rec[i].plain()
		}
		return m
	case isOther:
		return perdure.Data(v.text).Value()
	}
	return nil
}

// append adds the canonical bytes of the fact.
func (v *value) append(b []byte) []byte {
	switch v.kind {
	case isBool:
		b = canon.AppendBool(b, v.num != 0)
	case isLong:
		b = canon.AppendInt(b, v.num)
	case isText:
		b = canon.AppendText(b, v.text)
	case isList:
		b = canon.AppendArray(b, len(v.rec))
		for i := range v.rec {
			b = v.rec[i].append(b)
		}
	case isRecord:
		b = canon.AppendMap(b, len(v.rec))
		for i := range v.rec {
			b = v.rec[i].append(canon.AppendText(b, v.rec[i].name))
		}
	case isOther:
		b = append(b, v.text...)
	}
	return b
}
