package jsontext_test

import (
	"testing"

	"github.com/perdure/perdure/internal/jsontext"
)

func TestAnObjectIsReadExactly(t *testing.T) {
	for text, want := range map[string]string{
		`{"approved": true, "say": "x"}`:        "",
		` {} `:                                  "",
		`{"approved": false, "approved": true}`: `field "approved" comes twice`,
		`{"Approved": true}`:                    `unknown field "Approved"`,
		`{"approved": true} 1`:                  "it has more after its value",
		`{"approved": true`:                     "it is not JSON: it ends too early",
		`[true]`:                                "it is of type array; want an object",
		"{\"say\": \"\xff\"}":                   "it is not UTF-8",
		`{"say": 1}`:                            "say is a number; want a string",
	} {
		var into struct {
			Approved bool   `json:"approved"`
			Say      string `json:"say,omitempty"`
		}
		got := ""
		if err := jsontext.Exact([]byte(text), &into); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
