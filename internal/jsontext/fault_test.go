package jsontext_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/perdure/perdure/internal/jsontext"
)

func TestFaultsAreSaidWithoutTheWordsOfGo(t *testing.T) {
	for text, want := range map[string]string{
		`{"approved": "yes"}`: "approved is a string; want a bool",
		`[1]`:                 "it is of type array; want an object",
		`noo`:                 "it is not JSON from byte 2 on",
		`{"approved": tr`:     "it is not JSON: it ends too early",
		`{"approve": true}`:   `unknown field "approve"`,
	} {
		var body struct {
			Approved *bool `json:"approved"`
		}
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields()
		if got := jsontext.Fault(d.Decode(&body)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
