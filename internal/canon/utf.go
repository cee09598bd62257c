package canon

import (
	"encoding/binary"
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
	if utf8.Valid(b) {
		return -1
	}
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
	for len(b)-i >= 32 {
		q := b[i : i+32 : i+32]
		if (binary.LittleEndian.Uint64(q)|binary.LittleEndian.Uint64(q[8:])|
			binary.LittleEndian.Uint64(q[16:])|binary.LittleEndian.Uint64(q[24:]))&highBits != 0 {
			break
		}
		i += 32
	}
	for len(b)-i >= 8 && binary.LittleEndian.Uint64(b[i:])&highBits == 0 {
		i += 8
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// textScan checks text piece by piece. Text is cut before every code point that stands alone: NFC of the whole is NFC of
// the pieces, so only pieces that hold a combining code point go through the normalizer.
type textScan struct {
	at        int  // everything before is checked, except the normalization of the open segment
	segment   int  // where the open segment starts
	combining bool // the open segment holds a combining code point
	verbatim  bool // only UTF-8 is asked for
}

// next checks b, the text so far, from where the scan stopped. Unless final, a cut-off code point at the end waits.
func (s *textScan) next(b []byte, final bool) (int, string) {
	for s.at < len(b) {
		if b[s.at] < utf8.RuneSelf {
			if s.combining && !s.closed(b) {
				return s.segment, PredNFC
			}
			s.at += asciiLen(b[s.at:])
			s.segment = s.at - 1
			continue
		}
		r, size := utf8.DecodeRune(b[s.at:])
		if r == utf8.RuneError && size == 1 {
			if !final && !utf8.FullRune(b[s.at:]) {
				return -1, ""
			}
			return s.at, PredUTF8
		}
		class := byte(runeAlone)
		if r >= firstCombining && !s.verbatim {
			class = runeClass(r)
		}
		switch class {
		case runeUnassigned:
			return s.at, PredUnassigned
		case runeCombining:
			s.combining = true
		case runeAlone:
			if s.combining && !s.closed(b) {
				return s.segment, PredNFC
			}
			s.segment = s.at
		}
		s.at += size
	}
	if final && s.combining && !s.closed(b) {
		return s.segment, PredNFC
	}
	return -1, ""
}

// closed ends the open segment at the current position and reports whether it is normal.
func (s *textScan) closed(b []byte) bool {
	s.combining = false
	return norm.NFC.IsNormal(b[s.segment:s.at])
}
