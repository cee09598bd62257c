package jsontext

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Marshal is json.Marshal, which puts another letter in the place of what is not UTF-8: such text is refused, so that
// what is read, and signed, is what was written.
func Marshal(v any) ([]byte, error) {
	if err := UTF8(v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// Text refuses JSON that is not UTF-8, or that has half of a surrogate pair in an escape (\ud800), which is no
// character: the library would put another letter in its place. What else is wrong with it, whoever reads it finds out.
func Text(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 == len(text) {
			return nil
		}
		r, is := escaped(text[i:])
		switch {
		case !is:
			text = text[i+2:]
			continue
		case utf16.IsSurrogate(r):
			low, _ := escaped(text[i+6:])
			if utf16.DecodeRune(r, low) == utf8.RuneError {
				return fmt.Errorf("it is not UTF-8: %s is half a character", text[i:i+6])
			}
			i += 6
		}
		text = text[i+6:]
	}
}

// escaped is the number that a text begins with as an escape, \u and four digits; false: it does not.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// UTF8 refuses a value with a text in it that is not UTF-8, and names its field.
func UTF8(v any) error {
	if field, bad := notUTF8(reflect.ValueOf(v), "text"); bad {
		return fmt.Errorf("the %s is not UTF-8", field)
	}
	return nil
}

// notUTF8 finds a text that is not UTF-8 in the field that is called so.
func notUTF8(v reflect.Value, field string) (_ string, bad bool) {
	switch v.Kind() {
	case reflect.String:
		return field, !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return notUTF8(v.Elem(), field)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 { // bytes
			return "", false
		}
		for i := range v.Len() {
			if called, is := notUTF8(v.Index(i), field); is {
				return called, true
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			for _, one := range []reflect.Value{key, value} {
				if called, is := notUTF8(one, field); is {
					return called, true
				}
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if called, is := notUTF8(v.Field(i), cmp.Or(name, strings.ToLower(f.Name))); is {
				return called, true
			}
		}
	}
	return "", false
}
