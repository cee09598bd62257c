package canon

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// ToText appends the text form of bin to dst: RFC 8785 JSON. It refuses bin if that is not a canonical value of type t.
//
// Under a schema a uint is a decimal string, bytes are unpadded base64url, an enum is its name, and NaN, Infinity,
// -Infinity and -0 are strings. Without one everything must be told apart by itself: integers past 2^53-1 are "$int:…",
// floats that would look like integers or are no JSON number "$float:…", bytes "$bytes:…", and text or keys that start
// with a dollar sign get a second one. Integer keys, and fields without a name, are "$" and the number.
func ToText(dst []byte, t *Type, bin []byte) ([]byte, error) {
	if err := Check(t, bin, lenient(bin)); err != nil {
		return dst, err
	}
	return appendTextForm(dst, t, bin), nil
}

func appendTextForm(dst []byte, t *Type, bin []byte) []byte {
	w := textWriters.Get().(*textWriter)
	w.cursor, w.dst = cursor{b: bin}, dst
	w.value(t)
	dst = w.dst
	clear(w.members[:cap(w.members)]) // they hold on to bin
	w.cursor, w.dst = cursor{}, nil
	textWriters.Put(w)
	return dst
}

// textWriters have room for members.
var textWriters = sync.Pool{New: func() any { return &textWriter{members: make([]member, 0, 32)} }}

// textWriter writes checked bytes as JSON.
type textWriter struct {
	cursor
	dst     []byte
	members []member // of the objects being written, the innermost last
	plain   bool     // schema-less values as ordinary JSON, without escapes
}

func (w *textWriter) value(t *Type) {
	if t.Kind == Any || t.Kind == DataKind {
		w.free()
		return
	}
	first := w.b[w.i]
	major, n := w.head()
	switch t.Kind {
	case Bool:
		w.dst = strconv.AppendBool(w.dst, first == cborTrue)
	case Int:
		w.integer(major, n)
	case Uint:
		w.dst = append(w.dst, '"')
		w.dst = strconv.AppendUint(w.dst, n, 10)
		w.dst = append(w.dst, '"')
	case Float:
		f := floatOf(first, n)
		if s := special(f); s != "" {
			w.dst = appendQuoted(w.dst, s)
		} else {
			w.dst = appendNumber(w.dst, f)
		}
	case Bytes:
		w.base64("", w.take(n))
	case Text, Verbatim:
		w.dst = appendQuoted(w.dst, str(w.take(n)))
	case List:
		w.list(n, func() { w.value(t.Elem) })
	case Map:
		w.object(n, func() (string, *Type) {
			_, size := w.head()
			return str(w.take(size)), t.Elem
		})
	case Record, Union:
		w.object(n, func() (string, *Type) {
			_, id := w.head()
			if f := t.Schema.byID(id); f != nil {
				return f.Name, f.Type
			}
			return "$" + strconv.FormatUint(id, 10), DataType
		})
	case Enum:
		name, _ := t.nameOf(n)
		w.dst = appendQuoted(w.dst, name)
	case Any, DataKind:
	}
}

// free writes a schema-less value.
func (w *textWriter) free() {
	first := w.b[w.i]
	major, n := w.head()
	switch major {
	case majorUint, majorNint:
		if w.plain || n < maxSafe || n == maxSafe && major == majorUint {
			w.integer(major, n)
			return
		}
		w.dst = append(w.dst, `"$int:`...)
		w.integer(major, n)
		w.dst = append(w.dst, '"')
	case majorBytes:
		if w.plain {
			w.dst = append(w.dst, '"')
			w.dst = base64.StdEncoding.AppendEncode(w.dst, w.take(n))
			w.dst = append(w.dst, '"')
			return
		}
		w.base64("$bytes:", w.take(n))
	case majorText:
		w.dst = appendQuoted(w.dst, w.escaped(w.take(n)))
	case majorList:
		w.list(n, w.free)
	case majorMap:
		w.object(n, func() (string, *Type) {
			major, k := w.head()
			if major == majorText {
				return w.escaped(w.take(k)), DataType
			}
			if w.plain {
				return strconv.FormatUint(k, 10), DataType
			}
			return "$" + strconv.FormatUint(k, 10), DataType
		})
	default:
		w.freeOther(first, n)
	}
}

func (w *textWriter) freeOther(first byte, n uint64) {
	switch first {
	case cborNull:
		w.dst = append(w.dst, "null"...)
		return
	case cborFalse, cborTrue:
		w.dst = strconv.AppendBool(w.dst, first == cborTrue)
		return
	}
	f := floatOf(first, n)
	s := special(f)
	if w.plain {
		if s != "" && s != "-0" {
			w.dst = append(w.dst, "null"...)
			return
		}
		w.dst = appendNumber(w.dst, f)
		return
	}
	from := len(w.dst)
	if s == "" {
		w.dst = appendNumber(w.dst, f)
		if !integral(w.dst[from:]) {
			return
		}
		s = string(w.dst[from:])
	}
	w.dst = append(w.dst[:from], `"$float:`...)
	w.dst = append(w.dst, s...)
	w.dst = append(w.dst, '"')
}

// escaped returns schema-less text as it is written.
func (w *textWriter) escaped(b []byte) string {
	if len(b) > 0 && b[0] == '$' && !w.plain {
		return "$" + string(b)
	}
	return str(b)
}

func (w *textWriter) integer(major byte, n uint64) {
	if major == majorNint {
		w.dst = strconv.AppendInt(w.dst, ^int64(n), 10)
		return
	}
	w.dst = strconv.AppendUint(w.dst, n, 10)
}

func (w *textWriter) base64(prefix string, b []byte) {
	w.dst = append(w.dst, '"')
	w.dst = append(w.dst, prefix...)
	w.dst = base64.RawURLEncoding.AppendEncode(w.dst, b)
	w.dst = append(w.dst, '"')
}

func (w *textWriter) list(n uint64, elem func()) {
	w.dst = append(w.dst, '[')
	for k := range n {
		if k > 0 {
			w.dst = append(w.dst, ',')
		}
		elem()
	}
	w.dst = append(w.dst, ']')
}

// member is one member of an object: its written key and where its value is.
type member struct {
	key string
	at  int
	t   *Type
}

// object writes n pairs in the order of RFC 8785. key reads a key and returns it as written, with the type of its
// value.
func (w *textWriter) object(n uint64, key func() (string, *Type)) {
	base := len(w.members)
	for range n {
		k, t := key()
		w.members = append(w.members, member{k, w.i, t})
		w.skip()
	}
	end := w.i
	slices.SortFunc(w.members[base:], func(a, b member) int { return compareUTF16(a.key, b.key) })
	w.dst = append(w.dst, '{')
	for i := range int(n) {
		m := w.members[base+i]
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = appendQuoted(w.dst, m.key)
		w.dst = append(w.dst, ':')
		w.i = m.at
		w.value(m.t)
	}
	w.dst = append(w.dst, '}')
	w.members, w.i = w.members[:base], end
}

// compareUTF16 orders two strings by their UTF-16 code units. That differs from the order of their bytes only between
// code points above U+FFFF, whose surrogates start at U+D800, and those from U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	x, _ := utf8.DecodeRuneInString(a[i:])
	y, _ := utf8.DecodeRuneInString(b[i:])
	if c := cmp.Compare(leadUnit(x), leadUnit(y)); c != 0 {
		return c
	}
	return cmp.Compare(x, y)
}

// leadUnit is the first UTF-16 code unit of r.
func leadUnit(r rune) rune {
	if r < 0x10000 {
		return r
	}
	return 0xd800 + (r-0x10000)>>10
}

// appendQuoted appends a JSON string as RFC 8785 spells it.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for {
		n := plainLen(view(s))
		if dst = append(dst, s[:n]...); n == len(s) {
			return append(dst, '"')
		}
		c := s[n]
		s = s[n+1:]
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
}
