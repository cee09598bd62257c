package canon

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

var goLeaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int64](), reflect.TypeFor[uint64](), reflect.TypeFor[float64](),
	reflect.TypeFor[string](), reflect.TypeFor[[]byte](), reflect.TypeFor[[4]byte](), reflect.TypeFor[color](),
	reflect.TypeFor[trigger](),
	reflect.TypeFor[Data](), reflect.TypeFor[part](), reflect.TypeFor[[]string](),
}

func drawGoType(t *rapid.T, depth int) reflect.Type {
	if depth == 0 {
		return rapid.SampledFrom(goLeaves).Draw(t, "leaf")
	}
	switch rapid.IntRange(0, 5).Draw(t, "go type") {
	case 0:
		return reflect.SliceOf(drawGoType(t, depth-1))
	case 1:
		return reflect.MapOf(reflect.TypeFor[string](), drawGoType(t, depth-1))
	case 2:
		return drawGoStruct(t, depth-1)
	}
	return rapid.SampledFrom(goLeaves).Draw(t, "leaf")
}

// drawGoStruct returns a random struct type with canon tags.
func drawGoStruct(t *rapid.T, depth int) reflect.Type {
	var fields []reflect.StructField
	ids := rapid.SliceOfNDistinct(rapid.IntRange(0, MaxReserved), 0, 6, rapid.ID).Draw(t, "ids")
	for i, id := range ids {
		f := reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: drawGoType(t, depth)}
		option := rapid.SampledFrom([]string{"", ",omitzero", ",optional"}).Draw(t, "option")
		switch f.Type.Kind() {
		case reflect.Slice, reflect.Map, reflect.Interface:
		default:
			if option == ",optional" {
				f.Type = reflect.PointerTo(f.Type)
			}
		}
		if holdsText(f.Type) && rapid.Bool().Draw(t, "verbatim") {
			option += ",verbatim"
		}
		f.Tag = reflect.StructTag(fmt.Sprintf(`canon:"%d,f%d%s"`, id, i, option))
		fields = append(fields, f)
	}
	if rapid.Bool().Draw(t, "keeps") {
		fields = append(fields, reflect.StructField{Name: "Reserved", Type: reservedType, Tag: `canon:",reserved"`})
	}
	return reflect.StructOf(fields)
}

// decodeGo and appendGo are Codec's methods for a type known at run time.
func decodeGo(n *Type, b []byte, v reflect.Value) error {
	lim := Limits{}.withDefaults()
	w := walker{b: b, items: lim.Items, depth: lim.Depth}
	return rooted(w.whole(n, v.UnsafePointer(), lim.Bytes))
}

func appendGo(n *Type, v reflect.Value) ([]byte, error) {
	e := encoder{items: DefaultItems, depth: DefaultDepth}
	r := e.value(n, unsafe.Pointer(v.Pointer()))
	return e.dst, rooted(r)
}

func TestRandomStructsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rt := drawGoStruct(t, 2)
		c := compiler{done: map[compiled]*Type{}}
		n := c.of(rt, false, "root")
		if err := n.Valid(); err != nil {
			t.Fatal(err)
		}
		used := reflect.New(rt) // holds what the value before left in it
		for range 3 {
			bin := encodeModel(t, drawModel(t, n, 4))
			v := reflect.New(rt)
			err := decodeGo(n, bin, v)
			var r *Rejection
			if errors.As(err, &r) && r.Predicate == PredReservedUnkept {
				continue
			}
			if err != nil {
				t.Fatalf("%v\n%x: %v", rt, bin, err)
			}
			if err := decodeGo(n, bin, used); err != nil {
				t.Fatal(err)
			}
			for _, v := range []reflect.Value{v, used} {
				if again, err := appendGo(n, v); err != nil || !bytes.Equal(again, bin) {
					t.Fatalf("%v\n%x comes back as %x, %v", rt, bin, again, err)
				}
			}
			for range 4 {
				b := mutate(t, bin)
				want, got := Check(n, b, Limits{}), decodeGo(n, b, used)
				if errors.As(got, &r) && r.Predicate == PredReservedUnkept {
					continue
				}
				if (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() {
					t.Fatalf("%x: check says %v, decode %v", b, want, got)
				}
				if got != nil {
					used = reflect.New(rt)
					continue
				}
				if again, err := appendGo(n, used); err != nil || !bytes.Equal(again, b) {
					t.Fatalf("%v\n%x comes back as %x, %v", rt, b, again, err)
				}
			}
		}
	})
}
