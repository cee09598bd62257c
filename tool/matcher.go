package tool

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// spelling is one way in which the value of a secret is written.
type spelling struct{ text, name string }

// matcher finds spellings in a text. Most texts hold none, so it looks at as few places as it can: at four bytes near
// the end of where the shortest spelling would be, which say how far the next place is where one may be, as Wu and
// Manber do it.
type matcher struct {
	skips [1 << hashBits]uint8  // by the hash of four bytes: to the next place
	by    map[uint32][]spelling // by the first four bytes, the longest first
	short int                   // the length of the shortest, as far as it is used
	long  int                   // the length of the longest
}

const (
	// hashBits is for a table that stays in the nearest cache, and is mostly empty for the secrets of a node.
	hashBits = 14
	// block is how many bytes are looked at, and the least length of a spelling.
	block = 4
	// maxSkip bounds how far is skipped: a byte of the table.
	maxSkip = 64
)

// newMatcher is a matcher for spellings of at least four bytes.
func newMatcher(all []spelling) *matcher {
	slices.SortFunc(all, func(a, b spelling) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.text+a.name, b.text+b.name)
	})
	m := &matcher{by: make(map[uint32][]spelling, len(all)), short: maxSkip}
	for _, s := range all {
		m.short, m.long = min(m.short, len(s.text)), max(m.long, len(s.text))
	}
	for i := range m.skips {
		m.skips[i] = uint8(m.short - block + 1)
	}
	for _, s := range slices.Compact(all) {
		w := binary.LittleEndian.Uint32([]byte(s.text))
		m.by[w] = append(m.by[w], s)
		for at := 0; at+block <= m.short; at++ {
			h := blockHash(binary.LittleEndian.Uint32([]byte(s.text)[at:]))
			m.skips[h] = min(m.skips[h], uint8(m.short-block-at))
		}
	}
	return m
}

// blockHash spreads four bytes over the table.
func blockHash(w uint32) uint32 { return w * 0x9E3779B1 >> (32 - hashBits) }

// begin is the first place to look at.
func (m *matcher) begin() int { return m.short - block }

// skip is how far from a place the next one is where a spelling may end its shortest part; zero: it may here.
func (m *matcher) skip(b []byte, at int) int {
	return int(m.skips[blockHash(binary.LittleEndian.Uint32(b[at:]))])
}

// at is the longest spelling that is at a place in b.
func (m *matcher) at(b []byte, at int) *spelling {
	if at+block > len(b) {
		return nil
	}
	list := m.by[binary.LittleEndian.Uint32(b[at:])]
	for i := range list {
		if s := &list[i]; bytes.HasPrefix(b[at:], []byte(s.text)) {
			return s
		}
	}
	return nil
}

// any is the first spelling in b.
func (m *matcher) any(b []byte) *spelling {
	for _, s := range m.each(b) {
		return s
	}
	return nil
}

// each yields the spellings in b and where they are: the longest at each place.
func (m *matcher) each(b []byte) iter.Seq2[int, *spelling] {
	return func(yield func(int, *spelling) bool) {
		if len(m.by) == 0 {
			return
		}
		back := m.begin()
		for at := back; at+block <= len(b); {
			if n := m.skip(b, at); n > 0 {
				at += n
				continue
			}
			if s := m.at(b, at-back); s != nil && !yield(at-back, s) {
				return
			}
			at++
		}
	}
}

// spellingsOf are those of some values that are not too short: as they are, and in normal form.
func spellingsOf(values []spelling, least int) (exact, plain []spelling) {
	for _, v := range values {
		value, name := v.text, v.name
		for _, form := range spellings(value) {
			if len(form) >= least {
				exact = append(exact, spelling{form, name})
			}
		}
		if form := normalText(value); len(form) >= minNormal && strength(form, true) >= minStrength {
			plain = append(plain, spelling{form, name})
		}
		wide := inUTF16(value)
		for _, form := range slices.Concat(insideBase64([]byte(value)), insideBase64(wide), []string{
			hex.EncodeToString([]byte(value)), hex.EncodeToString(wide),
			base64.StdEncoding.EncodeToString([]byte(value))}) {
			if form = normalText(form); len(form) >= minNormal && strength(form, false) >= minStrength {
				plain = append(plain, spelling{form, name})
			}
		}
	}
	return exact, plain
}

// spellings are the ways in which a value is commonly written.
func spellings(v string) []string {
	b := []byte(v)
	forms := []string{
		v, url.QueryEscape(v), url.PathEscape(v), hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)),
		base64.StdEncoding.EncodeToString(b), base64.RawStdEncoding.EncodeToString(b),
		base64.URLEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
	}
	if text, err := json.Marshal(v); err == nil {
		forms = append(forms, string(text[1:len(text)-1]))
	}
	return append(forms, insideBase64(b)...)
}

// inUTF16 is a value in UTF-16, as far as it is the same in both orders of bytes: without the zero that it begins or
// ends with. Nil if it is not ASCII.
func inUTF16(value string) []byte {
	var wide []byte
	for i := range len(value) {
		if value[i] >= utf8.RuneSelf {
			return nil
		}
		if i > 0 {
			wide = append(wide, 0)
		}
		wide = append(wide, value[i])
	}
	return wide
}

// insideBase64 is what a value becomes as a part of something longer in base64, such as user and password: the
// characters that depend on nothing but the value, for each place it can begin at.
func insideBase64(b []byte) []string {
	if len(b) < leastInside {
		return nil
	}
	var forms []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := enc.EncodeToString(append(make([]byte, shift), b...))
			begin := (shift*8 + 5) / 6      // the first character with bits of the value alone
			end := (shift + len(b)) * 8 / 6 // and the one after the last
			forms = append(forms, text[begin:end])
		}
	}
	return forms
}

// leastInside is the shortest value that is looked for inside of longer base64: of a shorter one too little is left.
const leastInside = 8
