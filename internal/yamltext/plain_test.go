package yamltext_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure/internal/yamltext"
)

// TestWhatIsWrongIsSaidInPlainWords: a list where fields are wanted, and the other way round.
func TestWhatIsWrongIsSaidInPlainWords(t *testing.T) {
	kinds := map[string]string{"[]string": "a list", "yamltext_test.card": "fields, such as name: …", "string": "text",
		"map[string]any": "names and values"}
	for text, want := range map[string]string{
		"[a]":             "line 1: got a list, want fields, such as name: …",
		"- name: a":       "line 1: got a list, want fields, such as name: …",
		"x":               "line 1: got `x`, want fields, such as name: …",
		"name: [a]":       "line 1: got a list, want text",
		"tags: {a: b}":    "line 1: got names with values, want a list",
		"more: [1]":       "line 1: got a list, want names and values",
		"nam: a":          "line 1: there is no field nam",
		"tags: x\nnam: a": "line 1: got `x`, want a list; line 2: there is no field nam",
		"tags: [":         "line 1: did not find expected node content",
	} {
		dec := yaml.NewDecoder(strings.NewReader(text))
		dec.KnownFields(true)
		if err := yamltext.Plain(dec.Decode(new(card)), kinds); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if err := yamltext.Plain(nil, kinds); err != nil {
		t.Errorf("got %v of nothing", err)
	}
}

type card struct {
	Name string         `yaml:"name"`
	Tags []string       `yaml:"tags"`
	More map[string]any `yaml:"more"`
}
