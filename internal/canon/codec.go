package canon

import (
	"sync"
	"unsafe"
)

// Codec moves values of T, a struct with canon tags, between Go and the binary form. It is safe for concurrent use.
type Codec[T any] struct {
	name string
	once sync.Once
	t    *Type
}

// For returns the codec of the struct T, whose schema is called name. The description is compiled at the first use, so
// that unions can be registered in init; a bad description panics then.
func For[T any](name string) *Codec[T] { return &Codec[T]{name: name} }

// Type returns the description of T.
func (c *Codec[T]) Type() *Type {
	c.once.Do(func() { c.t = compile[T](c.name) })
	return c.t
}

// Append appends the binary form of v to dst. A value that has none is refused: text that is not NFC, an int past 2^53,
// an enum number without a name, a required union that is nil, Data that is not canonical, more than the default
// limits.
func (c *Codec[T]) Append(dst []byte, v *T) ([]byte, error) {
	e := encoder{dst: dst, base: len(dst), items: DefaultItems, depth: DefaultDepth}
	r := e.value(c.Type(), unsafe.Pointer(v))
	if r == nil && len(e.dst)-len(dst) > DefaultBytes {
		r = reject(PredBytes, DefaultBytes, "a longer value", "at most 64 MiB")
	}
	if r != nil {
		return dst, rooted(r)
	}
	return e.dst, nil
}

// Decode sets v to the value in b, which must be exactly one canonical value within the limits. Strings, byte slices,
// Data and Reserved of v share memory with b: b must not change while v lives. Slices of v are filled in place where
// they have room. After an error v is unspecified.
func (c *Codec[T]) Decode(b []byte, v *T, lim Limits) error {
	lim = lim.withDefaults()
	w := walker{b: b, items: lim.Items, depth: lim.Depth}
	return rooted(w.whole(c.Type(), unsafe.Pointer(v), lim.Bytes))
}
