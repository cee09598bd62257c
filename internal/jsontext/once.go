package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// level is an object or a list that is being read.
type level struct {
	seen map[string]bool // the keys of an object; nil: a list
	key  bool            // a key comes next
}

// Once refuses a text in which an object has a key twice, at whatever depth: the library would take the last, and
// others the first. What is no JSON it leaves to the decoder to refuse.
func Once(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	open := []level{{}}
	for {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		in := &open[len(open)-1]
		if key, is := t.(string); is && in.key {
			if in.seen[key] {
				return fmt.Errorf("field %q comes twice", key)
			}
			in.seen[key], in.key = true, false
			continue
		}
		switch t {
		case json.Delim('{'):
			open = append(open, level{seen: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		in = &open[len(open)-1] // a value has ended
		in.key = in.seen != nil
	}
}
