package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/perdure/perdure/internal/canon"
)

// facts are the rules of RFC 8949 §4.2.1 and RFC 8785 at the places where readers differ: on both sides of every width
// an integer, a length or a float can have, and where numbers and keys change how they are written. They are made from
// the rules, so that a clone tests them with nothing beside it.
func facts() (accept, reject []*vector) {
	add := func(name, why string, b []byte, predicate string) {
		v := &vector{Name: "fact-" + name, Why: why, As: "value", Form: "binary", Hex: hex.EncodeToString(b)}
		if predicate == "" {
			accept = append(accept, v)
			return
		}
		reject = append(reject, v.refused(predicate))
	}
	for _, n := range []uint64{23, 24, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<53 - 1, 1 << 53, 1<<63 - 1,
		1 << 63} {
		add(fmt.Sprint("uint-", n), "an integer in its fewest bytes", canon.AppendUint(nil, n), "")
		if n < 1<<63 {
			add(fmt.Sprint("nint-", n), "the integer -1-n in its fewest bytes", canon.AppendInt(nil, -1-int64(n)), "")
		}
		if wide := wider(0, n); wide != nil {
			add(fmt.Sprint("uint-wide-", n), "an integer in more bytes than it takes", wide, "canon.shortest-int")
			add(fmt.Sprint("nint-wide-", n), "a negative integer in more bytes than it takes", wider(1, n),
				"canon.shortest-int")
		}
	}
	for _, n := range []int{23, 24, 255, 256} {
		add(fmt.Sprint("bytes-", n), "a length in its fewest bytes", canon.AppendBytes(nil, make([]byte, n)), "")
		add(fmt.Sprint("bytes-wide-", n), "a length in more bytes than it takes",
			append(wider(2, uint64(n)), make([]byte, n)...), "canon.shortest-int")
		list := canon.AppendArray(nil, n)
		add(fmt.Sprint("list-", n), "a list of zeros", append(list, make([]byte, n)...), "")
		add(fmt.Sprint("list-wide-", n), "a list whose length takes fewer bytes",
			append(wider(4, uint64(n)), make([]byte, n)...), "canon.shortest-int")
	}
	for i, f := range edges() {
		add(fmt.Sprint("float-", i), fmt.Sprintf("the float %v in its fewest bits", f), canon.AppendFloat(nil, f), "")
		if short := canon.AppendFloat(nil, f); len(short) < 9 {
			add(fmt.Sprint("float-wide-", i), fmt.Sprintf("the float %v in 64 bits", f),
				binary.BigEndian.AppendUint64([]byte{0xfb}, math.Float64bits(f)), "canon.shortest-float")
		}
	}
	add("keys", "keys by their encoded bytes in binary, by UTF-16 units in text",
		keyed("\r", "1", "a", "\u0080", "\u00f6", "\u20ac", "\ufb4f", "\U0001f600"), "")
	return accept, reject
}

// edges are the floats on both sides of what 16, 32 and 64 bits hold, and of where their text changes.
func edges() []float64 {
	return []float64{
		1.5, 65504, 65505, 65520, 65536, 0x1p-14, 0x1p-24, 0x1p-25, 0x1.ffcp-15, 0x1.ffep-15, 0x1.ffcp15, 0x1.ffep15,
		math.MaxFloat32, 0x1.fffffe0000001p127, 0x1p128, 0x1p-126, 0x1p-149, 0x1p-150, 0x1.000002p0, 0x1.000001p0,
		math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 0.1, 1.1, 1.0 / 3, 1e20 + 0.5, 1e21, 1e22, 1e23,
		999999999999999900000, 1e-6, 1e-7, 9.999999999999997e-7,
		123456789.125, 4.1, -4.1, 5e-7, 0x1p53 + 2, math.Inf(-1), math.Copysign(0, -1),
	}
}

// wider is the head of an item of a major type with an argument, in the next more bytes than it takes; nil if there are
// none.
func wider(major byte, n uint64) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | 24, byte(n)}
	case n < 1<<8:
		return binary.BigEndian.AppendUint16([]byte{major<<5 | 25}, uint16(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint32([]byte{major<<5 | 26}, uint32(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint64([]byte{major<<5 | 27}, n)
	}
	return nil
}

// keyed is a map with these keys, which are in the order of their encoded bytes, each to its place.
func keyed(keys ...string) []byte {
	b := canon.AppendMap(nil, len(keys))
	for i, k := range keys {
		b = canon.AppendInt(canon.AppendText(b, k), int64(i))
	}
	return b
}
