package canon

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func assignedBy15(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf,
		unicode.Co)
}

// plainFault is the text check written the obvious way.
func plainFault(s string) bool {
	for _, r := range s {
		if !assignedBy15(r) {
			return true
		}
	}
	return !utf8.ValidString(s) || !norm.NFC.IsNormalString(s)
}

func TestFrozenTableIsUnicode15(t *testing.T) {
	if unicode.Version != UnicodeVersion {
		t.Skipf("the unicode package is at %s and cannot judge tables of %s", unicode.Version, UnicodeVersion)
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		class := runeClass(r)
		if assigned := class != runeUnassigned; assigned != assignedBy15(r) {
			t.Fatalf("%U: assigned %v, want %v", r, assigned, !assigned)
		}
		s := string(r)
		alone := norm.NFC.PropertiesString(s).BoundaryBefore() && norm.NFC.IsNormalString(s)
		if class != runeUnassigned && (class == runeAlone) != alone {
			t.Fatalf("%U: stands alone %v, want %v", r, !alone, alone)
		}
		if r < firstCombining && class != runeAlone {
			t.Fatalf("%U does not stand alone", r)
		}
	}
}

func TestTextIsJudgedAsTheWholeStringIs(t *testing.T) {
	hard := rapid.StringOfN(rapid.RuneFrom(
		[]rune("aé\u0301\u0327\u0300가\u1100\u1161\u11a8\u0958\u212b\ufdd0\U0001f600\u09be\u09c7\u0345\u05b0\u0378")), 0,
		20, -1)
	texts := rapid.OneOf(anyText, nfcText, hard, rapid.Map(hard, norm.NFC.String),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string {
			return string(b)
		}))
	faults := 0
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat("ascii", rapid.IntRange(0, 9).Draw(t, "prefix")) + texts.Draw(t, "text")
		_, pred := textFault(s)
		if (pred != "") != plainFault(s) {
			t.Fatalf("%+q: got %q", s, pred)
		}
		if pred != "" {
			faults++
		}
		if bad := verbatimFault([]byte(s)); (bad < 0) != utf8.ValidString(s) {
			t.Fatalf("%+q: fault at %d as verbatim text", s, bad)
		}
		var scan textScan
		for end := 0; end <= len(s); end++ {
			at, got := scan.next([]byte(s[:end]), end == len(s))
			if got != "" && got != pred || end == len(s) && got != pred {
				t.Fatalf("%+q in pieces: got %q at %d after %d bytes, want %q", s, got, at, end, pred)
			}
			if got != "" {
				break
			}
		}
	})
	if faults == 0 {
		t.Error("no text was refused")
	}
}

func TestDecodeRuneAgreesOnEveryShortSequence(t *testing.T) {
	var b [4]byte
	for n := range 1 << 24 {
		b[0], b[1], b[2] = byte(n>>16), byte(n>>8), byte(n)
		if b[0] < utf8.RuneSelf {
			continue
		}
		r, size := utf8.DecodeRune(b[:3])
		if size == 1 {
			r, size = 0, 0
		}
		if got, n := decodeRune(b[:3]); got != r || n != size {
			t.Fatalf("%x: got %U of %d bytes, want %U of %d", b[:3], got, n, r, size)
		}
	}
}
