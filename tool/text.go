package tool

import "unicode/utf8"

// content is bytes from outside as a value of a result: text where they are valid UTF-8, else bytes. If cut is set, the
// bytes were cut off somewhere, and a character that the cut split is left out.
func content(b []byte, cut bool) any {
	if cut {
		b = wholeRunes(b)
	}
	if utf8.Valid(b) {
		return string(b)
	}
	return b
}

// wholeRunes is b without the beginning of a character at its end.
func wholeRunes(b []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-back:]) {
				return b[:len(b)-back]
			}
			break
		}
	}
	return b
}
