// Package glyph tells which characters people do not see as themselves. There are two sets, the smaller within the
// larger: what is shown is escaped by the larger, and names are refused by the smaller, as the rest is part of honest
// names in some scripts.
package glyph

import "unicode"

// Hidden reports whether a character is not shown as itself: it controls something, has no width, or turns the
// direction of what follows. Whoever prints it escapes it.
func Hidden(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // a soft hyphen
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point,
		unicode.Noncharacter_Code_Point) || r >= 0xe0000 && r < 0xe1000
}

// Control reports whether a character changes how the text around it is shown: C0, C1, what ends a line, and what turns
// the direction of writing. No name of a file, program or host holds one. Joiners and variation selectors are not among
// them: names in Persian, and emoji, have them.
func Control(r rune) bool {
	return unicode.IsControl(r) || r == 0x061C || r == 0x200E || r == 0x200F || r >= 0x2028 && r <= 0x202E ||
		r >= 0x2066 && r <= 0x2069
}
