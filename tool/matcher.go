package tool

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// spelling is one way in which the value of a secret is written.
type spelling struct{ text, name string }

// matcher finds spellings in a text.
type matcher struct {
	first [1 << 16 / 64]uint64  // a bit for each hash of the first bytes of a spelling
	by    map[uint32][]spelling // by the first bytes, the longest first
	long  int                   // the length of the longest
}

// newMatcher is a matcher for spellings of at least four bytes.
func newMatcher(all []spelling) *matcher {
	slices.SortFunc(all, func(a, b spelling) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.text+a.name, b.text+b.name)
	})
	m := &matcher{by: make(map[uint32][]spelling, len(all))}
	for _, s := range slices.Compact(all) {
		w := binary.LittleEndian.Uint32([]byte(s.text))
		h := guardHash(w)
		m.first[h/64] |= 1 << (h % 64)
		m.by[w] = append(m.by[w], s)
		m.long = max(m.long, len(s.text))
	}
	return m
}

// guardHash spreads the first bytes of a spelling over the bits.
func guardHash(w uint32) uint32 { return w * 0x9E3779B1 >> 16 }

// at is the longest spelling that is at a place in b.
func (m *matcher) at(b []byte, at int) *spelling {
	if at+4 > len(b) {
		return nil
	}
	w := binary.LittleEndian.Uint32(b[at:])
	if h := guardHash(w); m.first[h/64]&(1<<(h%64)) == 0 {
		return nil
	}
	list := m.by[w]
	for i := range list {
		if s := &list[i]; bytes.HasPrefix(b[at:], []byte(s.text)) {
			return s
		}
	}
	return nil
}

// any is the first spelling in b.
func (m *matcher) any(b []byte) *spelling {
	if len(m.by) == 0 {
		return nil
	}
	for i := 0; i+4 <= len(b); i++ {
		w := binary.LittleEndian.Uint32(b[i:])
		if h := guardHash(w); m.first[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		if s := m.at(b, i); s != nil {
			return s
		}
	}
	return nil
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
		for _, form := range append(insideBase64([]byte(value)), value, hex.EncodeToString([]byte(value)),
			base64.StdEncoding.EncodeToString([]byte(value))) {
			if form = normalText(form); len(form) >= minNormal {
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
