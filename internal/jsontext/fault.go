// Package jsontext says what is wrong with JSON that people and programs wrote, without the words of Go.
package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Fault says why a text could not be read into a value, from the error of encoding/json.
func Fault(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s is a %s; want a %s", kind.Field, kind.Value, kind.Type)
	case errors.As(err, &kind):
		return fmt.Sprintf("it is of type %s; want an object", kind.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON from byte %d on", syntax.Offset)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "it is not JSON: it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
