package canon

import (
	"bytes"
	"slices"
	"strconv"
)

// builder makes canonical bytes out of pieces that come in another order than theirs.
type builder struct {
	dst     []byte
	scratch []byte
	pairs   []pair // of the objects being read, the innermost last
}

// pair is one encoded pair in dst: its key from key to value, its value from value to end.
type pair struct {
	key, value, end int
	at              int // offset of the key in the input
}

// wrap puts the head of a list of n elements in front of what follows from.
func (b *builder) wrap(from, n int) {
	var head [9]byte
	b.dst = slices.Insert(b.dst, from, AppendArray(head[:0], n)...)
}

// sorted puts the pairs that follow from in order under the head of a map, and returns them as they are then.
func (b *builder) sorted(from int, pairs []pair, duplicate string) ([]pair, *Rejection) {
	old := append(b.scratch[:0], b.dst[from:]...)
	b.scratch = old
	key := func(p pair) []byte { return old[p.key-from : p.value-from] }
	slices.SortStableFunc(pairs, func(x, y pair) int { return bytes.Compare(key(x), key(y)) })
	for i := 1; i < len(pairs); i++ {
		if bytes.Equal(key(pairs[i-1]), key(pairs[i])) {
			return nil, reject(duplicate, int64(pairs[i].at), "the same key again", "each key once")
		}
	}
	b.dst = AppendMap(b.dst[:from], len(pairs))
	for i, p := range pairs {
		moved := pair{key: len(b.dst), at: p.at}
		b.dst = append(b.dst, old[p.key-from:p.end-from]...)
		moved.value, moved.end = moved.key+p.value-p.key, len(b.dst)
		pairs[i] = moved
	}
	return pairs, nil
}

// fields puts the fields of a record or the case of a union in order and checks that they are what s asks for.
func (b *builder) fields(t *Type, at, from int, pairs []pair, duplicate string) *Rejection {
	pairs, r := b.sorted(from, pairs, duplicate)
	if r != nil {
		return r
	}
	if t.Kind == Union {
		if len(pairs) != 1 {
			return reject(PredUnion, int64(at), strconv.Itoa(len(pairs))+" cases", "one")
		}
		return nil
	}
	c := cursor{b: b.dst}
	next := 0
	for i := range t.Schema.Fields {
		f := &t.Schema.Fields[i]
		id := -1
		for ; next < len(pairs); next++ {
			c.i = pairs[next].key
			_, n := c.head()
			if id = int(n); id >= int(f.ID) {
				break
			}
		}
		if next == len(pairs) || id != int(f.ID) {
			if r := f.absent(at, nil); r != nil {
				return r
			}
			continue
		}
		if p := pairs[next]; f.Presence == OmitZero && zeroWire(f.Type, b.dst[p.value:p.end]) {
			return reject(PredEmpty, int64(p.at), "a present zero", "no field").under("." + f.Name)
		}
	}
	return nil
}

// fieldOf returns the id and type of the field written as name in a record or union.
func fieldOf(t *Type, name string, at int) (uint64, *Type, *Rejection) {
	if f := t.Schema.field(name); f != nil {
		return uint64(f.ID), f.Type, nil
	}
	if t.Kind == Union {
		return 0, nil, reject(PredUnion, int64(at), clip(name), "a case of "+t.Schema.Name)
	}
	id, ok := numberedKey(name)
	switch {
	case !ok || id <= MaxCritical:
		return 0, nil, reject(PredCritical, int64(at), "unknown field "+clip(name), "a field of "+t.Schema.Name)
	case id > MaxReserved:
		return 0, nil, reject(PredIDRange, int64(at), clip(name), "at most $127")
	case t.Schema.byID(id) != nil:
		return 0, nil, reject(PredTextCanonical, int64(at), clip(name), t.Schema.byID(id).Name)
	}
	return id, DataType, nil
}

// numberedKey returns the number of a key written as "$" and a number up to 65535.
func numberedKey(name string) (uint64, bool) {
	if len(name) < 2 || name[0] != '$' || name[1] == '0' && len(name) > 2 || name[1] == '+' {
		return 0, false
	}
	id, err := strconv.ParseUint(name[1:], 10, 16)
	return id, err == nil
}
