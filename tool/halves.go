package tool

import (
	"encoding/binary"
	"slices"
)

// halves finds parts of secrets: of a spelling, half of it or more in a row, and at least minPart bytes. Less of it may
// stand in a text by chance, such as the prefix that all keys of a provider share, and so may parts of a weak secret,
// which are not looked for.
//
// Every such part holds one of a few pieces of its spelling, four bytes each. These are looked for, and where one is,
// what is around it is compared.
type halves struct {
	matcher *matcher // of the pieces
	by      map[uint32][]piece
}

// minPart is the shortest part of a secret that is taken for one.
const minPart = 8

// piece is where four bytes are in a spelling.
type piece struct {
	spelling
	at    int
	least int // bytes that make a part
}

func newHalves(values []spelling) *halves {
	h := &halves{by: map[uint32][]piece{}}
	values = slices.DeleteFunc(slices.Clone(values), func(s spelling) bool {
		return strength(normalText(s.text), true) < minStrength
	})
	all, _ := spellingsOf(values, minPart)
	var texts []spelling
	for _, s := range all {
		least := max(minPart, (len(s.text)+1)/2)
		for at := 0; at+block <= len(s.text) && least < len(s.text); at += least - block + 1 {
			w := binary.LittleEndian.Uint32([]byte(s.text)[at:])
			if p := (piece{s, at, least}); !slices.Contains(h.by[w], p) {
				h.by[w] = append(h.by[w], p)
				texts = append(texts, spelling{text: s.text[at : at+block]})
			}
		}
	}
	h.matcher = newMatcher(texts)
	return h
}

// spans adds where parts are in a text.
func (h *halves) spans(all []span, b []byte) []span {
	for at := range h.matcher.each(b) {
		for _, p := range h.by[binary.LittleEndian.Uint32(b[at:])] {
			from, to := p.extent(b, at)
			if to-from >= p.least {
				all = append(all, span{from, to, p.name})
			}
		}
	}
	return all
}

// extent is how far a text is the spelling around a piece.
func (p *piece) extent(b []byte, at int) (from, to int) {
	from, to = at, at+block
	for i := p.at; i > 0 && from > 0 && b[from-1] == p.text[i-1]; i-- {
		from--
	}
	for i := p.at + block; i < len(p.text) && to < len(b) && b[to] == p.text[i]; i++ {
		to++
	}
	return from, to
}
