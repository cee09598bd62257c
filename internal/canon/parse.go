package canon

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"sync"
)

// FromText appends the binary form of text, the text form of a value of type t. Only the exact text form is accepted:
// what ToText would write.
func FromText(dst []byte, t *Type, text []byte, lim Limits) ([]byte, error) {
	lim = lim.withDefaults()
	room := textRooms.Get().(*textRoom)
	defer textRooms.Put(room)
	p := newParser(text, lim)
	p.builder = room.builder
	r := p.document(t, lim)
	room.keep(p.builder)
	if r != nil {
		return dst, rooted(r)
	}
	if err := Check(t, p.dst, lim); err != nil {
		return dst, err
	}
	// The parser accepts every spelling of a value; this is what leaves one.
	want := appendTextForm(room.want[:0], t, p.dst)
	if cap(want) <= maxRoom {
		room.want = want
	}
	if !bytes.Equal(want, text) {
		at := 0
		for at < len(text) && at < len(want) && text[at] == want[at] {
			at++
		}
		return dst, rooted(reject(PredTextCanonical, int64(at), excerpt(text, at), excerpt(want, at)))
	}
	return append(dst, p.dst...), nil
}

// textRoom is memory that FromText uses again: it needs about three times the input, and hands out none of it.
type textRoom struct {
	builder
	want []byte
}

var textRooms = sync.Pool{New: func() any { return new(textRoom) }}

// maxRoom bounds what is kept for the next input: one of megabytes is rare.
const maxRoom = 1 << 20

func (m *textRoom) keep(b builder) {
	if cap(b.dst) <= maxRoom && cap(b.scratch) <= maxRoom {
		m.builder = builder{dst: b.dst[:0], scratch: b.scratch[:0], pairs: b.pairs[:0]}
	}
}

func excerpt(b []byte, at int) string {
	if at >= len(b) {
		return "the end"
	}
	return clip(string(b[at:min(len(b), at+16)]))
}

// parser reads JSON into binary form, guided by a type.
type parser struct {
	lexer
	builder
	items int64 // left
	depth int   // left
	plain bool  // schema-less values are ordinary JSON, without escapes
}

func newParser(text []byte, lim Limits) *parser {
	return &parser{lexer: lexer{b: text}, items: lim.Items, depth: lim.Depth}
}

// document reads the one value of the input.
func (p *parser) document(t *Type, lim Limits) *Rejection {
	if int64(len(p.b)) > lim.Bytes {
		return p.reject(PredBytes, int(lim.Bytes), Count(len(p.b), "bytes"),
			"at most "+strconv.FormatInt(lim.Bytes, 10))
	}
	if r := p.value(t); r != nil {
		return r
	}
	p.space()
	if p.i < len(p.b) {
		return p.reject(PredTrailing, p.i, excerpt(p.b, p.i), "the end")
	}
	return nil
}

func (p *parser) value(t *Type) *Rejection {
	c := p.peek()
	at := p.i
	switch t.Kind {
	case Any, DataKind:
		return p.free(t, c)
	case Bool:
		if c == 't' || c == 'f' {
			return p.bool(c)
		}
	case Int:
		if c == '-' || '0' <= c && c <= '9' {
			return p.int()
		}
	case Float:
		if c == '-' || '0' <= c && c <= '9' {
			return p.float()
		}
		if c == '"' {
			s, r := p.text()
			if r != nil {
				return r
			}
			f, ok := parseSpecial(s)
			if !ok {
				return p.reject(PredTextNumber, at, clip(s), "a number, NaN, Infinity, -Infinity or -0")
			}
			p.dst = AppendFloat(p.dst, f)
			return nil
		}
	case Uint, Bytes, Text, Verbatim, Enum:
		if c == '"' {
			return p.quoted(t)
		}
	case List:
		if c == '[' {
			return p.list(func() *Rejection { return p.value(t.Elem) })
		}
	case Map:
		if c == '{' {
			return p.textMap(t)
		}
	case Record, Union:
		if c == '{' {
			return p.record(t)
		}
	}
	return p.mismatch(c, t)
}

// mismatch rejects the value at the current position, which is not of type t.
func (p *parser) mismatch(c byte, t *Type) *Rejection {
	names := map[byte]string{'"': "a string", '[': "an array", '{': "an object", 't': "a bool", 'f': "a bool",
		'n': "null"}
	got := names[c]
	if c == '-' || '0' <= c && c <= '9' {
		got = "a number"
	}
	switch got {
	case "":
		return p.unexpected("a value")
	case "null":
		return p.reject(PredNull, p.i, got, t.Kind.String())
	}
	return p.reject(PredType, p.i, got, t.Kind.String())
}

func (p *parser) bool(c byte) *Rejection {
	p.dst = AppendBool(p.dst, c == 't')
	if c == 't' {
		return p.word("true")
	}
	return p.word("false")
}

func (p *parser) int() *Rejection {
	at := p.i
	token, r := p.number()
	if r != nil {
		return r
	}
	v, err := strconv.ParseInt(string(token), 10, 64)
	switch {
	case !integral(token) || string(token) == "-0":
		return p.reject(PredTextNumber, at, clip(string(token)), "an integer")
	case err != nil || v > maxSafe || v < -maxSafe:
		return p.reject(PredIntSafe, at, clip(string(token)), "at most 2^53-1 from zero")
	}
	p.dst = AppendInt(p.dst, v)
	return nil
}

func (p *parser) float() *Rejection {
	at := p.i
	token, r := p.number()
	if r != nil {
		return r
	}
	return p.putFloat(token, at)
}

// putFloat appends a float spelled as token, which must be its one spelling unless any JSON will do.
func (p *parser) putFloat(token []byte, at int) *Rejection {
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		r := p.reject(PredTextNumber, at, clip(string(token)), "a number a 64-bit float can hold")
		r.Hint = "write it as text, in quotes"
		return r
	}
	var room [32]byte
	if want := appendNumber(room[:0], f); !p.plain && !bytes.Equal(want, token) {
		return p.reject(PredTextNumber, at, clip(string(token)), string(want))
	}
	p.dst = AppendFloat(p.dst, f)
	return nil
}

// quoted reads a value that is written as a string.
func (p *parser) quoted(t *Type) *Rejection {
	at := p.i
	s, r := p.text()
	if r != nil {
		return r
	}
	switch t.Kind {
	case Uint:
		u, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return p.reject(PredTextNumber, at, clip(s), "a decimal number below 2^64")
		}
		p.dst = AppendUint(p.dst, u)
	case Bytes:
		n, r := p.bytes(s, at)
		if r == nil && t.Len > 0 && n != t.Len {
			r = p.reject(PredLength, at, Count(n, "bytes"), strconv.Itoa(t.Len))
		}
		return r
	case Enum:
		for _, n := range t.Names {
			if n.Name == s {
				p.dst = AppendUint(p.dst, n.Number)
				return nil
			}
		}
		return p.reject(PredEnum, at, clip(s), t.enumWant())
	default:
		return p.putText(s, at, t.Kind == Verbatim)
	}
	return nil
}

// putText appends s, which is valid UTF-8.
func (p *parser) putText(s string, at int, verbatim bool) *Rejection {
	if !verbatim {
		if bad, pred := textFault(s); pred != "" {
			return textRejection(pred, at, view(s[bad:]))
		}
	}
	p.dst = AppendText(p.dst, s)
	return nil
}

var base64url = base64.RawURLEncoding.Strict()

// bytes appends the bytes spelled as s, and returns how many they are.
func (p *parser) bytes(s string, at int) (int, *Rejection) {
	n := base64url.DecodedLen(len(s))
	p.dst = appendHead(p.dst, majorBytes, uint64(n))
	from := len(p.dst)
	var err error
	// fewer where the decoder passes over line ends
	if p.dst, err = base64url.AppendDecode(p.dst, view(s)); err != nil || len(p.dst) != from+n {
		return 0, p.reject(PredTextCanonical, at, clip(s), "unpadded base64url")
	}
	return n, nil
}

// enter counts one more level of nesting.
func (p *parser) enter() *Rejection {
	if p.depth == 0 {
		return p.reject(PredDepth, p.i, "deeper nesting", "the depth limit")
	}
	p.depth--
	return nil
}

// item counts one more element.
func (p *parser) item() *Rejection {
	if p.items == 0 {
		return p.reject(PredItems, p.i, "one more element", "the element limit")
	}
	p.items--
	return nil
}

func (p *parser) list(elem func() *Rejection) *Rejection {
	if r := p.enter(); r != nil {
		return r
	}
	from, n := len(p.dst), 0
	p.i++
	for !p.accept(']') {
		if n > 0 && !p.accept(',') {
			return p.unexpected("a comma or ]")
		}
		if r := p.item(); r != nil {
			return r
		}
		if r := elem(); r != nil {
			return r.under(indexSegment(uint64(n)))
		}
		n++
	}
	p.wrap(from, n)
	p.depth++
	return nil
}

// object reads the members of an object into encoded pairs, good until the next call. member gets the key as written
// and writes it.
func (p *parser) object(member func(key string, at int) (*Type, *Rejection)) ([]pair, *Rejection) {
	if r := p.enter(); r != nil {
		return nil, r
	}
	base := len(p.pairs)
	p.i++
	for !p.accept('}') {
		if len(p.pairs) > base && !p.accept(',') {
			return nil, p.unexpected("a comma or }")
		}
		if r := p.item(); r != nil {
			return nil, r
		}
		p.space()
		next := pair{key: len(p.dst), at: p.i}
		key, r := p.text()
		if r != nil {
			return nil, r
		}
		t, r := member(key, next.at)
		if r != nil {
			return nil, r
		}
		if !p.accept(':') {
			return nil, p.unexpected("a colon")
		}
		next.value = len(p.dst)
		if r := p.value(t); r != nil {
			return nil, r.under(keySegment(key))
		}
		next.end = len(p.dst)
		p.pairs = append(p.pairs, next)
	}
	p.depth++
	pairs := p.pairs[base:]
	p.pairs = p.pairs[:base]
	return pairs, nil
}

func (p *parser) textMap(t *Type) *Rejection {
	from := len(p.dst)
	pairs, r := p.object(func(key string, at int) (*Type, *Rejection) { return t.Elem, p.putText(key, at, false) })
	if r == nil {
		_, r = p.sorted(from, pairs, PredTextDuplicate)
	}
	return r
}

func (p *parser) record(t *Type) *Rejection {
	at, from := p.i, len(p.dst)
	pairs, r := p.object(func(key string, at int) (*Type, *Rejection) {
		id, ft, r := fieldOf(t, key, at)
		p.dst = AppendUint(p.dst, id)
		return ft, r
	})
	if r != nil {
		return r
	}
	return p.fields(t, at, from, pairs, PredTextDuplicate)
}
