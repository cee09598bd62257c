package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perdure/perdure"
)

// schema is the JSON Schema of an argument struct.
type schema struct {
	data     perdure.Data
	resolved *jsonschema.Resolved
}

// typeSchemas are the types whose JSON is not what their Go type suggests.
var typeSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[[]byte]():       {Type: "string", ContentEncoding: "base64"},
	reflect.TypeFor[perdure.Data](): {},
}

// schemaOf derives the schema of Args.
func schemaOf[Args any]() (*schema, error) {
	s, err := jsonschema.For[Args](&jsonschema.ForOptions{TypeSchemas: typeSchemas})
	if err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("%s is not a struct or a map with text keys", reflect.TypeFor[Args]())
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	data, err := perdure.DataFromJSON(text)
	return &schema{data: data, resolved: resolved}, err
}

// decode checks arguments against the schema and reads them into v. No arguments are an empty object.
func (s *schema) decode(args perdure.Data, v any) error {
	text := []byte("{}")
	if len(args) > 0 {
		if err := args.Valid(); err != nil {
			return err
		}
		text = args.JSON()
	}
	var instance any
	if err := json.Unmarshal(text, &instance); err != nil {
		return err
	}
	if err := s.resolved.Validate(instance); err != nil {
		return errors.New(plain(err.Error()))
	}
	if err := json.Unmarshal(text, v); err != nil {
		return errors.New(plain(err.Error()))
	}
	return nil
}

// plain takes out of a validator's message what only its author needs: where in the schema the validator was.
func plain(msg string) string {
	msg = strings.ReplaceAll(msg, "validating root: ", "")
	msg = strings.ReplaceAll(msg, "validating /properties/", "field ")
	msg = strings.ReplaceAll(msg, "/properties/", ".")
	return clip(msg)
}

// clip bounds text that goes into a note.
func clip(s string) string {
	if len(s) <= maxNote {
		return s
	}
	cut := maxNote
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + cutMark
}
