package canon

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

//go:generate go run assigned_gen.go

// UnicodeVersion is the version whose assigned code points text may use.
const UnicodeVersion = "15.0.0"

// What a code point is to the text check.
const (
	runeAlone      = 0 // assigned, and never changes or is changed by its neighbours under NFC
	runeCombining  = 1 // assigned, and takes part in normalization
	runeUnassigned = 2
)

const firstCombining = 0x300 // every code point below stands alone

func runeClass(r rune) byte {
	block := uint32(assignedPages[r>>8])<<6 | uint32(r)>>2&63
	return assignedBlocks[block] >> (uint32(r) & 3 * 2) & 3
}

// view returns the bytes of s without copying; they must not be written.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// str returns b as a string without copying; b must not change while the string lives.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// textFault returns the offset and predicate of the first fault of s as text, or -1.
func textFault(s string) (int, string) {
	var scan textScan
	return scan.next(view(s), true)
}

// verbatimFault returns the offset of the first byte of b that is not UTF-8, or -1.
func verbatimFault(b []byte) int {
	scan := textScan{verbatim: true}
	bad, _ := scan.next(b, true)
	return bad
}

const highBits = 0x8080808080808080

// ascii reports whether b is all ASCII.
func ascii(b []byte) bool {
	switch {
	case len(b) >= 32:
		return asciiLen(b) == len(b)
	case len(b) >= 8:
		n := len(b) - 8
		m := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[n:])
		if n > 8 { // the loads overlap
			m |= binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[n-8:])
		}
		return m&highBits == 0
	}
	m := byte(0)
	for _, c := range b {
		m |= c
	}
	return m < utf8.RuneSelf
}

// asciiLen returns the length of the ASCII prefix of b.
func asciiLen(b []byte) int {
	i := 0
	if len(b) >= 8 { // short runs are common between words of other scripts
		if m := binary.LittleEndian.Uint64(b) & highBits; m != 0 {
			return bits.TrailingZeros64(m) >> 3
		}
		i = 8
	}
	for len(b)-i >= 32 {
		q := b[i : i+32 : i+32]
		if (binary.LittleEndian.Uint64(q)|binary.LittleEndian.Uint64(q[8:])|
			binary.LittleEndian.Uint64(q[16:])|binary.LittleEndian.Uint64(q[24:]))&highBits != 0 {
			break
		}
		i += 32
	}
	for len(b)-i >= 8 {
		if m := binary.LittleEndian.Uint64(b[i:]) & highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// textScan checks text piece by piece. Text is cut before every code point that stands alone: NFC of the whole is NFC
// of the pieces, so only pieces that hold a combining code point go through the normalizer.
type textScan struct {
	at        int  // everything before is checked, except the normalization of the open segment
	segment   int  // where the open segment starts
	combining bool // the open segment holds a combining code point
	verbatim  bool // only UTF-8 is asked for
}

// next checks b, the text so far, from where the scan stopped, and returns the offset and predicate of the first fault,
// or -1. Unless final, a cut-off code point at the end waits.
func (s *textScan) next(b []byte, final bool) (int, string) {
	at, segment, combining := s.at, s.segment, s.combining
	for at < len(b) {
		class, start := byte(runeAlone), at
		var size int
		if b[at] >= utf8.RuneSelf {
			var r rune
			if r, size = decodeRune(b[at:]); size == 0 {
				if final || utf8.FullRune(b[at:]) {
					return at, PredUTF8
				}
				break
			}
			if r >= firstCombining && !s.verbatim {
				class = runeClass(r)
			}
		} else {
			size = asciiLen(b[at:])
			start += size - 1
		}
		switch class {
		case runeUnassigned:
			return at, PredUnassigned
		case runeCombining:
			combining = true
		case runeAlone:
			if combining && !norm.NFC.IsNormal(b[segment:at]) {
				return segment, PredNFC
			}
			segment, combining = start, false
		}
		at += size
	}
	if final && combining && !norm.NFC.IsNormal(b[segment:]) {
		return segment, PredNFC
	}
	s.at, s.segment, s.combining = at, segment, combining
	return -1, ""
}

// decodeRune returns the code point at the start of b, which is not ASCII, and its length; 0 if it is not valid. It
// spares the common lengths what utf8.DecodeRune does for all.
func decodeRune(b []byte) (rune, int) {
	c := b[0]
	if c < 0xe0 {
		if c >= 0xc2 && len(b) > 1 && b[1]&0xc0 == 0x80 {
			return rune(c&0x1f)<<6 | rune(b[1]&0x3f), 2
		}
		return 0, 0
	}
	if c < 0xf0 && len(b) > 2 {
		r := rune(c&0x0f)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
		if b[1]&0xc0 == 0x80 && b[2]&0xc0 == 0x80 && r >= 0x800 && r>>11 != 0x1b {
			return r, 3
		}
		return 0, 0
	}
	r, size := utf8.DecodeRune(b)
	if size == 1 {
		return 0, 0
	}
	return r, size
}
