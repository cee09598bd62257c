package jsontext

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
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
