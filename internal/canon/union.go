package canon

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// UnionCase is one struct type a union can hold. Make it with Case.
type UnionCase[I any] struct {
	id   uint16
	name string
	zero I
}

// Case says that a union of interface I holds values of the struct type of zero under the given id and name.
func Case[I any](id uint16, name string, zero I) UnionCase[I] {
	return UnionCase[I]{id: id, name: name, zero: zero}
}

// RegisterUnion makes fields of interface type I unions of the given cases. The interface holds struct values, not
// pointers. Call it once for I, before the first codec that reaches I is used; a bad description panics.
func RegisterUnion[I any](name string, cases ...UnionCase[I]) {
	rt := reflect.TypeFor[I]()
	if rt.Kind() != reflect.Interface {
		panic(fmt.Sprintf("canon: union %s: %v is not an interface", name, rt))
	}
	u := &union{name: name}
	for _, c := range cases {
		ct := reflect.TypeOf(c.zero)
		if ct == nil || ct.Kind() != reflect.Struct {
			panic(fmt.Sprintf("canon: union %s: case %s is a %v, not a struct", name, c.name, ct))
		}
		v := reflect.New(rt).Elem()
		v.Set(reflect.Zero(ct))
		words := (*iface)(v.Addr().UnsafePointer())
		u.cases = append(u.cases, unionCase{id: c.id, name: c.name, goType: ct, tab: words.tab,
			direct: words.data == nil})
	}
	slices.SortFunc(u.cases, func(a, b unionCase) int { return int(a.id) - int(b.id) })
	unions.Lock()
	defer unions.Unlock()
	if unions.of[rt] != nil {
		panic(fmt.Sprintf("canon: union %v is registered twice", rt))
	}
	unions.of[rt] = u
}

var unions = struct {
	sync.Mutex
	of map[reflect.Type]*union
}{of: map[reflect.Type]*union{}}

// union is the Go side of a union type, its cases in the order of the schema's fields.
type union struct {
	name  string
	cases []unionCase
}

type unionCase struct {
	id     uint16
	name   string
	goType reflect.Type
	tab    unsafe.Pointer // the first word of an interface that holds this case
	direct bool           // the second word is the value itself, a single pointer, and not its address
}

// iface is the layout of every Go interface: what it holds, and where. Going through it lets a struct be read in place
// and stored without a second copy, which reflection cannot do.
type iface struct {
	tab, data unsafe.Pointer
}

// new returns room for a value of the case.
func (c *unionCase) new() unsafe.Pointer { return reflect.New(c.goType).UnsafePointer() }

// store makes the interface at p hold the value at v, which nobody else holds.
func (c *unionCase) store(p, v unsafe.Pointer) {
	if c.direct {
		v = *(*unsafe.Pointer)(v)
	}
	*(*iface)(p) = iface{c.tab, v}
}

// load returns the index of the case the interface at p holds and where its value is.
func (u *union) load(p unsafe.Pointer) (int, unsafe.Pointer) {
	words := (*iface)(p)
	for k := range u.cases {
		c := &u.cases[k]
		if c.tab != words.tab {
			continue
		}
		if c.direct {
			return k, unsafe.Pointer(&words.data)
		}
		return k, words.data
	}
	return -1, nil
}
