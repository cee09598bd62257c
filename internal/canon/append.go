package canon

import (
	"encoding/binary"
	"math"
)

// Major types of CBOR, in the top three bits of an initial byte.
const (
	majorUint  = 0
	majorNint  = 1
	majorBytes = 2
	majorText  = 3
	majorList  = 4
	majorMap   = 5
	majorTag   = 6
	majorOther = 7

	cborFalse = 0xf4
	cborTrue  = 0xf5
	cborNull  = 0xf6
	cborF16   = 0xf9
	cborF32   = 0xfa
	cborF64   = 0xfb
)

// maxHead is the longest head of a value.
const maxHead = 9

func appendHead(dst []byte, major byte, n uint64) []byte {
	m := major << 5
	switch {
	case n < 24:
		return append(dst, m|byte(n))
	case n <= math.MaxUint8:
		return append(dst, m|24, byte(n))
	case n <= math.MaxUint16:
		return append(dst, m|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, m|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, m|27), n)
}

// The Append functions add one item, or the head of one, to dst. They check nothing: the caller answers for key order,
// counts and text.

// AppendMap appends the head of a map of n pairs.
func AppendMap(dst []byte, n int) []byte { return appendHead(dst, majorMap, uint64(n)) }

// AppendArray appends the head of a list of n elements.
func AppendArray(dst []byte, n int) []byte { return appendHead(dst, majorList, uint64(n)) }

// AppendUint appends an unsigned integer.
func AppendUint(dst []byte, u uint64) []byte { return appendHead(dst, majorUint, u) }

// AppendInt appends a signed integer.
func AppendInt(dst []byte, i int64) []byte {
	if i < 0 {
		return appendHead(dst, majorNint, uint64(^i))
	}
	return appendHead(dst, majorUint, uint64(i))
}

// AppendBytes appends a byte string.
func AppendBytes(dst, b []byte) []byte {
	return append(appendHead(dst, majorBytes, uint64(len(b))), b...)
}

// AppendText appends a text string without checking it.
func AppendText(dst []byte, s string) []byte {
	return append(appendHead(dst, majorText, uint64(len(s))), s...)
}

// AppendBool appends false or true.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, cborTrue)
	}
	return append(dst, cborFalse)
}

// AppendNull appends null.
func AppendNull(dst []byte) []byte { return append(dst, cborNull) }

// AppendFloat appends a float in the fewest bits that keep it. Every NaN becomes the one NaN.
func AppendFloat(dst []byte, f float64) []byte {
	if f != f {
		return append(dst, cborF16, 0x7e, 0x00)
	}
	single := float32(f)
	if float64(single) != f {
		return binary.BigEndian.AppendUint64(append(dst, cborF64), math.Float64bits(f))
	}
	bits := math.Float32bits(single)
	if half, exact := toHalf(bits); exact {
		return append(dst, cborF16, byte(half>>8), byte(half))
	}
	return binary.BigEndian.AppendUint32(append(dst, cborF32), bits)
}

// toHalf returns the 16-bit float equal to the 32-bit float with the given bits, which is not NaN, if there is one.
func toHalf(bits uint32) (uint16, bool) {
	sign := uint16(bits>>16) & 0x8000
	exp := int(bits>>23&0xff) - 127
	man := bits & 0x7fffff
	switch {
	case exp == 128:
		return sign | 0x7c00, true
	case exp == -127:
		return sign, man == 0
	case exp > 15 || exp < -24:
		return 0, false
	case exp >= -14:
		return sign | uint16(exp+15)<<10 | uint16(man>>13), man&0x1fff == 0
	}
	shift := uint(-1 - exp) // a subnormal: a multiple of 2^-24
	man |= 1 << 23
	return sign | uint16(man>>shift), man&(1<<shift-1) == 0
}

// fromHalf returns the value of a 16-bit float.
func fromHalf(h uint16) float64 {
	exp, man := int(h>>10&0x1f), float64(h&0x3ff)
	var f float64
	switch exp {
	case 0:
		f = man * 0x1p-24
	case 31:
		if man != 0 {
			return math.NaN()
		}
		f = math.Inf(1)
	default:
		f = math.Ldexp(1024+man, exp-25)
	}
	if h&0x8000 != 0 {
		return -f
	}
	return f
}
