package jsontext_test

import (
	"encoding/json"
	"testing"

	"github.com/perdure/perdure/internal/jsontext"
)

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	type inner struct {
		Labels map[string]string `json:"labels,omitempty"`
	}
	type outer struct {
		Goal  string
		Tools *[]string       `json:"tools"`
		Over  *inner          `json:"over"`
		Raw   json.RawMessage `json:"raw,omitempty"`
		note  string
	}
	const bad = "x\xff"
	for want, v := range map[string]any{
		"":                        outer{Goal: "\ufffd", Raw: json.RawMessage(`1`), note: bad},
		"the goal is not UTF-8":   outer{Goal: bad},
		"the tools is not UTF-8":  &outer{Tools: &[]string{"a", bad}},
		"the labels is not UTF-8": outer{Over: &inner{Labels: map[string]string{"a": bad}}},
		"the label is not UTF-8":  struct{ Label map[string]any }{map[string]any{bad: nil}},
		"the text is not UTF-8":   []any{nil, 1, bad},
	} {
		got := ""
		if _, err := jsontext.Marshal(v); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: got %q, want %q", v, got, want)
		}
	}
}

func TestEscapesThatAreHalfACharacterAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "x\u00e9\n\ud83d\ude00\\ud800 \ufffd"}`: "",
		`"\`:              "",
		`"\u12`:           "",
		`"\uzzzz"`:        "",
		"\"\xff\"":        "it is not UTF-8",
		`"\ud800"`:        `it is not UTF-8: \ud800 is half a character`,
		`{"\uDFFF": 1}`:   `it is not UTF-8: \uDFFF is half a character`,
		`"\\\ud83d\n"`:    `it is not UTF-8: \ud83d is half a character`,
		`"\ud83d\ud83d"`:  `it is not UTF-8: \ud83d is half a character`,
		`"\ude00\ud83d"`:  `it is not UTF-8: \ude00 is half a character`,
		`"\ud83d\u0041"`:  `it is not UTF-8: \ud83d is half a character`,
		`"\ud83dx\ude00"`: `it is not UTF-8: \ud83d is half a character`,
	} {
		got := ""
		if err := jsontext.Text([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
