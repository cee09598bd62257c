package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/canon"
)

// node is a JSON value and where it stands in its source.
type node struct {
	kind  byte     // one of { [ " 0 t f n, or b for bytes
	at    int      // offset of the value
	end   int      // offset after it
	text  string   // content of a string, digits of a number, content of bytes
	keys  []string // of an object
	items []*node  // elements of an array, values of an object
}

// member returns the value of a key, or nil.
func (n *node) member(key string) *node {
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.items[i]
	}
	return nil
}

var nodeNames = map[byte]string{'{': "an object", '[': "an array", '"': "a string", '0': "a number", 't': "true",
	'f': "false", 'n': "null", 'b': "bytes"}

// say names the node for messages.
func (n *node) say() string {
	switch n.kind {
	case '"':
		return clip(n.text)
	case '0':
		if len(n.text) > 40 {
			return "number " + n.text[:40] + "…"
		}
		return "number " + n.text
	}
	return nodeNames[n.kind]
}

// parseJSON reads src. Duplicate keys, lone surrogates, invalid UTF-8 and too deep nesting are refused.
func parseJSON(src []byte) (*node, *canon.Rejection) {
	if _, err := canon.DataFromJSON(src); err != nil {
		var r *canon.Rejection
		if !errors.As(err, &r) {
			return nil, refuse(predJSON, "$", err.Error(), "JSON")
		}
		r.Got = placed(src, int(r.Offset), r.Got)
		return nil, r
	}
	p := jsonReader{src: src}
	return p.value(), nil
}

// jsonReader reads JSON that is known to be valid.
type jsonReader struct {
	src []byte
	i   int
}

// next moves to the next byte that is not space and returns it.
func (p *jsonReader) next() byte {
	for p.src[p.i] == ' ' || p.src[p.i] == '\t' || p.src[p.i] == '\n' || p.src[p.i] == '\r' {
		p.i++
	}
	return p.src[p.i]
}

func (p *jsonReader) value() *node {
	c := p.next()
	n := &node{kind: c, at: p.i}
	switch c {
	case '{', '[':
		closing := c + 2 // in ASCII the closing bracket is two after the opening one
		p.i++
		for p.next() != closing {
			if p.next() == ',' {
				p.i++
				p.next()
			}
			if c == '{' {
				n.keys = append(n.keys, p.text())
				p.next()
				p.i++ // the colon
			}
			n.items = append(n.items, p.value())
		}
		p.i++
	case '"':
		n.text = p.text()
	case 't', 'n':
		p.i += 4
	case 'f':
		p.i += 5
	default:
		n.kind = '0'
		for p.i < len(p.src) && bytes.IndexByte([]byte("+-.eE0123456789"), p.src[p.i]) >= 0 {
			p.i++
		}
		n.text = string(p.src[n.at:p.i])
	}
	n.end = p.i
	return n
}

func (p *jsonReader) text() string {
	from := p.i
	for p.i++; p.src[p.i] != '"'; p.i++ {
		if p.src[p.i] == '\\' {
			p.i++
		}
	}
	p.i++
	var s string
	if json.Unmarshal(p.src[from:p.i], &s) != nil {
		return "" // cannot be: the string has been checked
	}
	return s
}

// nodeOf returns schema-less data as a node. Integer keys become decimal strings.
func nodeOf(v any) *node {
	switch v := v.(type) {
	case bool:
		return &node{kind: strconv.FormatBool(v)[0]}
	case int64:
		return &node{kind: '0', text: strconv.FormatInt(v, 10)}
	case uint64:
		return &node{kind: '0', text: strconv.FormatUint(v, 10)}
	case float64:
		if v != v || math.IsInf(v, 0) || v == 0 && math.Signbit(v) {
			return &node{kind: '"', text: specialName(v)}
		}
		return &node{kind: '0', text: strconv.FormatFloat(v, 'g', -1, 64)}
	case string:
		return &node{kind: '"', text: v}
	case []byte:
		return &node{kind: 'b', text: string(v)}
	case []any:
		n := &node{kind: '['}
		for _, e := range v {
			n.items = append(n.items, nodeOf(e))
		}
		return n
	case map[string]any:
		n := &node{kind: '{'}
		for _, k := range sortedKeys(v) {
			n.keys = append(n.keys, k)
			n.items = append(n.items, nodeOf(v[k]))
		}
		return n
	}
	return &node{kind: 'n'}
}

// placed adds the line and column of an offset to what was found there.
func placed(src []byte, at int, got string) string {
	if src == nil {
		return got
	}
	at = min(max(at, 0), len(src))
	line := 1 + bytes.Count(src[:at], []byte("\n"))
	column := 1 + len([]rune(string(src[bytes.LastIndexByte(src[:at], '\n')+1:at])))
	return fmt.Sprintf("%s at line %d, column %d", got, line, column)
}
