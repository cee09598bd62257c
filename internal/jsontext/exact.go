package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Exact reads a text that is one object with fields of a struct, each at most once and spelled as the struct spells it,
// and nothing after it. The library would take the last of two, and any case: then whoever reads the text and who acts
// on it may see different things.
func Exact(text []byte, into any) error {
	if err := Text(text); err != nil {
		return err
	}
	if err := exactKeys(text, fields(into)); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(Fault(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it has more after its value")
	}
	return nil
}

// exactKeys refuses an object with a key twice, or one that is not among the names. What is no object, or no JSON, it
// leaves to the decoder to refuse.
func exactKeys(text []byte, names []string) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		key, _ := t.(string)
		switch {
		case !slices.Contains(names, key):
			return fmt.Errorf("unknown field %q", key)
		case seen[key]:
			return fmt.Errorf("field %q comes twice", key)
		}
		seen[key] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
	}
	return nil
}

// fields are the names of the fields of what a pointer points to, in JSON.
func fields(into any) (names []string) {
	t := reflect.TypeOf(into).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
