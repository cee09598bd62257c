package canon

import (
	"math"
	"strconv"
	"strings"
)

// free reads a schema-less value that starts with c.
func (p *parser) free(t *Type, c byte) *Rejection {
	switch {
	case c == 't' || c == 'f':
		return p.bool(c)
	case c == 'n':
		p.dst = AppendNull(p.dst)
		return p.word("null")
	case c == '"':
		at := p.i
		s, r := p.text()
		if r != nil {
			return r
		}
		return p.freeText(s, at, t.Kind == DataKind)
	case c == '[':
		return p.list(func() *Rejection { return p.value(t) })
	case c == '{':
		return p.freeMap(t)
	case c == '-' || '0' <= c && c <= '9':
		return p.freeNumber()
	}
	return p.unexpected("a value")
}

func (p *parser) freeNumber() *Rejection {
	at := p.i
	token, r := p.number()
	if r != nil {
		return r
	}
	if !integral(token) {
		return p.putFloat(token, at)
	}
	v, err := strconv.ParseInt(string(token), 10, 64)
	if err == nil && (p.plain || v <= maxSafe && v >= -maxSafe && string(token) != "-0") {
		p.dst = AppendInt(p.dst, v)
		return nil
	}
	if !p.plain {
		return p.reject(PredTextNumber, at, clip(string(token)), "$int: or $float: and the number, in a string")
	}
	if u, err := strconv.ParseUint(string(token), 10, 64); err == nil {
		p.dst = AppendUint(p.dst, u)
		return nil
	}
	if !Exact(string(token)) {
		r := p.reject(PredTextNumber, at, clip(string(token)), "an integer between -2^63 and 2^64-1, or one that a "+
			"64-bit float holds exactly")
		r.Hint = "write it as text, in quotes"
		return r
	}
	return p.putFloat(token, at)
}

// Exact reports whether an integer in digits is what a 64-bit float holds, or the shortest way to write that: nothing
// is lost of one, nor of a float that was written as digits.
func Exact(digits string) bool {
	f, err := strconv.ParseFloat(digits, 64)
	return err != nil || // it is refused as no float at all
		strconv.FormatFloat(f, 'f', 0, 64) == digits || strconv.FormatFloat(f, 'f', -1, 64) == digits
}

// freeText reads a schema-less string: text, or one of the escapes.
func (p *parser) freeText(s string, at int, verbatim bool) *Rejection {
	if p.plain || !strings.HasPrefix(s, "$") {
		return p.putText(s, at, verbatim)
	}
	kind, rest, _ := strings.Cut(s, ":")
	switch {
	case strings.HasPrefix(s, "$$"):
		return p.putText(s[1:], at, verbatim)
	case kind == "$bytes":
		_, r := p.bytes(rest, at)
		return r
	case kind == "$int":
		if u, err := strconv.ParseUint(rest, 10, 64); err == nil {
			p.dst = AppendUint(p.dst, u)
			return nil
		}
		v, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return p.reject(PredTextNumber, at, clip(s), "an integer between -2^63 and 2^64-1")
		}
		p.dst = AppendInt(p.dst, v)
		return nil
	case kind == "$float":
		f, ok := parseSpecial(rest)
		if !ok {
			var err error
			if f, err = strconv.ParseFloat(rest, 64); err != nil || math.IsNaN(f) {
				return p.reject(PredTextNumber, at, clip(s), "a float")
			}
		}
		p.dst = AppendFloat(p.dst, f)
		return nil
	}
	return p.reject(PredTextEscape, at, clip(s), "$$, $int:, $float: or $bytes:")
}

func (p *parser) freeMap(t *Type) *Rejection {
	from := len(p.dst)
	numbered, named := false, false
	pairs, r := p.object(func(key string, at int) (*Type, *Rejection) {
		if id, ok := numberedKey(key); ok && !p.plain {
			numbered = true
			p.dst = AppendUint(p.dst, id)
		} else {
			named = true
			if strings.HasPrefix(key, "$") && !p.plain {
				if !strings.HasPrefix(key, "$$") {
					return nil, p.reject(PredTextEscape, at, clip(key), "$$, or $ and a number up to 65535")
				}
				key = key[1:]
			}
			if r := p.putText(key, at, t.Kind == DataKind); r != nil {
				return nil, r
			}
		}
		if numbered && named {
			return nil, p.reject(PredKeyType, at, clip(key), "keys of one kind")
		}
		return t, nil
	})
	if r == nil {
		_, r = p.sorted(from, pairs, PredTextDuplicate)
	}
	return r
}
