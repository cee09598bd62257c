package view

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure"
)

// Sent is embedded in values that a server may have sent: programs are shown what came, with fields of a newer server
// that this one does not know.
type Sent struct {
	JSON SentJSON `json:"-"` // nil: it was made here
}

// SentJSON is a value as a server sent it.
type SentJSON json.RawMessage

// MarshalJSON is what came.
func (s SentJSON) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// MarshalYAML is the same as YAML, with its fields in the order in which they came.
func (s SentJSON) MarshalYAML() (any, error) {
	dec := json.NewDecoder(bytes.NewReader(s))
	dec.UseNumber()
	return inOrder(dec)
}

// Without is what came, as it came, without one field of the object that it is.
func (s SentJSON) Without(name string) (SentJSON, error) {
	dec := json.NewDecoder(bytes.NewReader(s))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	out := SentJSON("{")
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if key == name {
			continue
		}
		word, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, word...), ':'), value...)
	}
	return append(out, '}'), nil
}

// inOrder reads the next value of JSON. Objects keep the order of their fields.
func inOrder(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		d, err := perdure.DataFromJSON([]byte(t))
		return d.Value(), err
	case json.Delim:
		o, list := object{}, []any{}
		for dec.More() {
			name := ""
			if t == '{' {
				key, err := dec.Token()
				if err != nil {
					return nil, err
				}
				name, _ = key.(string)
			}
			v, err := inOrder(dec)
			if err != nil {
				return nil, err
			}
			o, list = append(o, field{name, v}), append(list, v)
		}
		if _, err := dec.Token(); err != nil { // its end
			return nil, err
		}
		if t == '{' {
			return o, nil
		}
		return list, nil
	}
	return token, nil
}
