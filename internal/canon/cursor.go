package canon

import (
	"encoding/binary"
	"math"
)

// cursor moves over bytes that have been checked. It trusts them.
type cursor struct {
	b []byte
	i int
}

// head reads a head and returns its major type and argument. For floats the argument is the raw bits.
func (c *cursor) head() (byte, uint64) {
	first := c.b[c.i]
	c.i++
	major, info := first>>5, first&31
	if info < 24 {
		return major, uint64(info)
	}
	var v uint64
	switch q := c.b[c.i:]; info {
	case 24:
		v = uint64(q[0])
	case 25:
		v = uint64(binary.BigEndian.Uint16(q))
	case 26:
		v = uint64(binary.BigEndian.Uint32(q))
	default:
		v = binary.BigEndian.Uint64(q)
	}
	c.i += 1 << (info - 24)
	return major, v
}

// skip moves past one value.
func (c *cursor) skip() {
	for left := uint64(1); left > 0; left-- {
		major, n := c.head()
		switch major {
		case majorBytes, majorText:
			c.i += int(n)
		case majorList:
			left += n
		case majorMap:
			left += 2 * n
		}
	}
}

// take returns the next n bytes.
func (c *cursor) take(n uint64) []byte {
	from := c.i
	c.i += int(n)
	return c.b[from:c.i:c.i]
}

// floatOf returns the float with the given initial byte and raw bits.
func floatOf(first byte, bits uint64) float64 {
	switch first {
	case cborF16:
		return fromHalf(uint16(bits))
	case cborF32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}
