package schema

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/perdure/perdure/internal/canon"
)

const maxSafe = 1<<53 - 1

// FromJSON returns the canonical binary form of a JSON object. Order and space do not matter; null is an absent
// optional field. A u64 is a number or a decimal string, bytes are unpadded base64url, an enum is its name, and a float
// may be "NaN", "Infinity", "-Infinity" or "-0". What ToJSON writes is always accepted and gives the same bytes.
func (s *Schema) FromJSON(src []byte) ([]byte, error) {
	n, r := parseJSON(src)
	if r != nil {
		return nil, r
	}
	return s.fromNode(n, src)
}

// ToJSON returns a value as JSON in the order of RFC 8785. The value is checked as Check does.
func (s *Schema) ToJSON(value []byte) ([]byte, error) {
	if err := s.Check(value); err != nil {
		return nil, err
	}
	return canon.ToText(nil, s.typ, value)
}

// fromNode encodes n and checks the result.
func (s *Schema) fromNode(n *node, src []byte) ([]byte, error) {
	f := former{src: src}
	v, r := f.value(s.typ, n, "$")
	if r != nil {
		return nil, r
	}
	b := encode(nil, s.typ, v)
	if err := s.Check(b); err != nil {
		var r *canon.Rejection
		if errors.As(err, &r) {
			at := n.find(r.Path).at
			r.Offset, r.Got = int64(at), placed(src, at, r.Got)
		}
		return nil, err
	}
	return b, nil
}

// former gives nodes the form their type asks for.
type former struct{ src []byte }

func (f former) refuse(pred string, n *node, path, got, want, hint string) *canon.Rejection {
	r := &canon.Rejection{Phase: canon.PhaseField, Predicate: pred, Path: path, Offset: int64(n.at), Want: want,
		Hint: hint}
	r.Got = placed(f.src, n.at, got)
	for _, p := range canon.Predicates {
		if p.Name == pred {
			r.Phase = p.Phase
			if hint == "" {
				r.Hint = p.Hint
			}
		}
	}
	return r
}

func (f former) value(t *canon.Type, n *node, path string) (any, *canon.Rejection) {
	switch {
	case t.Kind == canon.Bool && (n.kind == 't' || n.kind == 'f'):
		return n.kind == 't', nil
	case t.Kind == canon.Int && n.kind == '0':
		return f.int(n, path)
	case t.Kind == canon.Uint && (n.kind == '0' || n.kind == '"'):
		u, err := strconv.ParseUint(n.text, 10, 64)
		if err != nil {
			return nil, f.refuse(canon.PredTextNumber, n, path, n.say(), "an integer from 0 to 2^64-1", "")
		}
		return u, nil
	case t.Kind == canon.Float && n.kind == '0':
		v, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return nil, f.refuse(canon.PredTextNumber, n, path, n.say(), "a number a 64-bit float can hold", "")
		}
		return v + 0, nil // -0 as a number is 0: JSON does not tell them apart
	case t.Kind == canon.Float && n.kind == '"':
		if i := slices.Index(specials, n.text); i >= 0 {
			return specialFloats[i], nil
		}
	case t.Kind == canon.Bytes && n.kind == 'b':
		return []byte(n.text), nil
	case t.Kind == canon.Bytes && n.kind == '"':
		b, err := base64.RawURLEncoding.Strict().DecodeString(n.text)
		if err != nil {
			return nil, f.refuse(canon.PredTextCanonical, n, path, n.say(), "bytes in base64url",
				"use the characters A-Z a-z 0-9 - _ without = at the end")
		}
		return b, nil
	case (t.Kind == canon.Text || t.Kind == canon.Verbatim) && n.kind == '"':
		return f.text(t, n, n.text, path)
	case t.Kind == canon.Enum && n.kind == '"':
		var names []string
		for _, name := range t.Names {
			if name.Name == n.text {
				return name.Number, nil
			}
			names = append(names, name.Name)
		}
		return nil, f.refuse(canon.PredEnum, n, path, n.say(), "a value of the enum", didYouMean(n.text, names))
	case t.Kind == canon.List && n.kind == '[':
		return f.list(t, n, path)
	case t.Kind == canon.Map && n.kind == '{':
		return f.textMap(t, n, path)
	case t.Kind == canon.Record && n.kind == '{':
		return f.record(t, n, path)
	}
	return nil, f.refuse(canon.PredType, n, path, n.say(), t.Kind.String(), "")
}

func (f former) int(n *node, path string) (any, *canon.Rejection) {
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, f.refuse(canon.PredTextNumber, n, path, n.say(), "an integer",
			"write it without a point or exponent, or declare the field float")
	}
	if err != nil || v > maxSafe || v < -maxSafe {
		return nil, f.refuse(canon.PredIntSafe, n, path, n.say(), "at most 2^53-1 from zero", "")
	}
	return v, nil
}

// text checks text here, where its place in the source is known.
func (f former) text(t *canon.Type, n *node, s, path string) (any, *canon.Rejection) {
	err := canon.Check(&canon.Type{Kind: t.Kind}, canon.AppendText(nil, s), canon.Limits{})
	var r *canon.Rejection
	if errors.As(err, &r) {
		r.Path, r.Offset, r.Got = path, int64(n.at), placed(f.src, n.at, r.Got)
		return nil, r
	}
	return s, nil
}

func (f former) list(t *canon.Type, n *node, path string) (any, *canon.Rejection) {
	list := make([]any, 0, len(n.items))
	for i, e := range n.items {
		v, r := f.value(t.Elem, e, index(path, i))
		if r != nil {
			return nil, r
		}
		list = append(list, v)
	}
	return list, nil
}

func (f former) textMap(t *canon.Type, n *node, path string) (any, *canon.Rejection) {
	m := make(map[string]any, len(n.keys))
	for i, k := range n.keys {
		at := path + "[" + clip(k) + "]"
		if _, r := f.text(&canon.Type{Kind: canon.Text}, n.items[i], k, at); r != nil {
			return nil, r
		}
		v, r := f.value(t.Elem, n.items[i], at)
		if r != nil {
			return nil, r
		}
		m[k] = v
	}
	return m, nil
}

func (f former) record(t *canon.Type, n *node, path string) (any, *canon.Rejection) {
	rec := make(record, len(n.keys))
	var names []string
	for _, d := range t.Schema.Fields {
		names = append(names, d.Name)
	}
	for i, k := range n.keys {
		m := n.items[i]
		at := slices.Index(names, k)
		if at < 0 {
			id, err := strconv.ParseUint(strings.TrimPrefix(k, "$"), 10, 16)
			if !strings.HasPrefix(k, "$") || err != nil || id <= canon.MaxCritical || id > canon.MaxReserved ||
				fieldType(t, uint16(id)) != canon.DataType || f.src == nil {
				return nil, f.refuse(canon.PredCritical, m, path, "unknown field "+clip(k), "a field of "+t.Schema.Name,
					didYouMean(k, names))
			}
			raw, err := canon.FromText(nil, canon.DataType, m.appendText(nil), canon.Limits{})
			if err != nil {
				return nil, f.refuse(canon.PredTextCanonical, m, path+"."+k, err.Error(),
					"schema-less data in its text form", "")
			}
			rec[uint16(id)] = canon.Data(raw)
			continue
		}
		d := &t.Schema.Fields[at]
		if m.kind == 'n' && d.Presence == canon.Optional {
			continue
		}
		v, r := f.value(d.Type, m, path+"."+k)
		if r != nil {
			return nil, r
		}
		rec[d.ID] = v
	}
	for _, d := range t.Schema.Fields {
		if _, ok := rec[d.ID]; !ok && d.Presence == canon.Required {
			return nil, f.refuse(canon.PredMissing, n, path, "no "+d.Name, d.Name, fmt.Sprintf("add %q", d.Name))
		}
	}
	return rec, nil
}

// appendText appends the node as RFC 8785 orders it, its numbers as they were written.
func (n *node) appendText(dst []byte) []byte {
	switch n.kind {
	case '"':
		return appendString(dst, n.text)
	case '0':
		return append(dst, n.text...)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case 'n':
		return append(dst, "null"...)
	}
	order := make([]int, len(n.items))
	for i := range order {
		order[i] = i
	}
	if n.kind == '{' {
		units := func(i int) []uint16 { return utf16.Encode([]rune(n.keys[i])) }
		slices.SortFunc(order, func(a, b int) int { return slices.Compare(units(a), units(b)) })
	}
	dst = append(dst, n.kind)
	for i, k := range order {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst = append(appendString(dst, n.keys[k]), ':')
		}
		dst = n.items[k].appendText(dst)
	}
	return append(dst, n.kind+2)
}

// appendString appends a JSON string by way of the text form of verbatim text.
func appendString(dst []byte, s string) []byte {
	out, err := canon.ToText(dst, &canon.Type{Kind: canon.Verbatim}, canon.AppendText(nil, s))
	if err != nil {
		return append(dst, `""`...) // cannot be: the string came out of checked JSON
	}
	return out
}

var (
	specials      = []string{"NaN", "Infinity", "-Infinity", "-0"}
	specialFloats = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}
)

// specialName spells a float that JSON has no number for.
func specialName(f float64) string {
	switch {
	case f != f:
		return specials[0]
	case f > 0:
		return specials[1]
	case f < 0:
		return specials[2]
	}
	return specials[3]
}
