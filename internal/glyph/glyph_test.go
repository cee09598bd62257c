package glyph_test

import (
	"testing"
	"unicode"

	"github.com/perdure/perdure/internal/glyph"
)

func TestWhatControlsIsHidden(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if glyph.Control(r) && !glyph.Hidden(r) {
			t.Errorf("%U controls and would be printed", r)
		}
		if glyph.Hidden(r) && unicode.In(r, unicode.L, unicode.N, unicode.P) &&
			!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			t.Errorf("%U is a letter, number or mark of punctuation, and would be escaped", r)
		}
	}
	for _, r := range []rune{0x200c, 0x200d, 0xfe0f} { // in honest names
		if glyph.Control(r) || !glyph.Hidden(r) {
			t.Errorf("%U: want it hidden, and no control", r)
		}
	}
}
