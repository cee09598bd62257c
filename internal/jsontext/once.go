package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxValues bounds the values and keys of a text. Decoded, each takes many times the bytes that it takes in the text.
const maxValues = 200_000

// Once refuses a text in which an object has a key twice, at whatever depth: the library would take the last, and
// others the first. It refuses what would take far more room decoded than it takes as text, too. What is no JSON it
// leaves to the decoder to refuse.
func Once(text []byte) error {
	if !json.Valid(text) { // which finds what is too deep, too
		return nil
	}
	var open []map[string]bool // the keys of each object that is being read; nil: a list
	values, key := 0, false    // key: a key comes next, if a string does
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\n', '\r', '\t', ':':
			continue
		case ',':
			key = open[len(open)-1] != nil
			continue
		case '}', ']':
			open = open[:len(open)-1]
			key = false
			continue
		}
		if values++; values > maxValues {
			return fmt.Errorf("it has more than %d values and keys", maxValues)
		}
		switch text[i] {
		case '{':
			open, key = append(open, map[string]bool{}), true
		case '[':
			open, key = append(open, nil), false
		case '"':
			end := endOfString(text, i)
			if key {
				name, in := text[i+1:end], open[len(open)-1]
				if bytes.IndexByte(name, '\\') >= 0 {
					var plain string
					_ = json.Unmarshal(text[i:end+1], &plain) // it is valid
					name = []byte(plain)
				}
				if in[string(name)] {
					return fmt.Errorf("field %q comes twice", name)
				}
				in[string(name)], key = true, false
			}
			i = end
		default: // a number or a word
			n := bytes.IndexAny(text[i:], " \n\r\t,]}")
			if n < 0 {
				return nil
			}
			i += n - 1
		}
	}
	return nil
}

// endOfString is where the string ends that begins at i, in a text that is valid.
func endOfString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
