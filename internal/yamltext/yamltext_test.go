package yamltext_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure/internal/yamltext"
)

func mapping(keys int, indent string) string {
	var b strings.Builder
	for i := range keys {
		fmt.Fprintf(&b, "%sk%d: v\n", indent, i)
	}
	return b.String()
}

func TestCheckBoundsTheKeysOfMappings(t *testing.T) {
	t.Parallel()
	var many, complex strings.Builder
	for i := range 20 {
		fmt.Fprintf(&many, "m%d:\n%s", i, mapping(4000, "  "))
	}
	for range 60_000 {
		complex.WriteString("? [a]\n: b\n")
	}
	for _, x := range []struct {
		name, text, want string
	}{
		{"few keys", mapping(100, ""), ""},
		{"as many as may be", mapping(yamltext.MaxKeys, ""), ""},
		{"too many keys", mapping(60_000, ""), "too many keys"},
		{"too many in the second document", "a: b\n---\n" + mapping(60_000, ""), "too many keys"},
		{"too many in several mappings", many.String(), "too many keys"},
		{"too many that are lists", complex.String(), "too many keys"},
		{"one key, often", strings.Repeat("k: v\n", 5000), `line 2: mapping key "k" already defined at line 1`},
		{"no YAML", "a: [", ""},
		{"a long list", strings.Repeat("- a\n", 100_000), ""},
	} {
		err := yamltext.Check([]byte(x.text))
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: got %v, want %q", x.name, err, x.want)
		}
	}
}

// What is refused here and not by the decoder is refused for its cost alone.
func FuzzCheckRefusesOnlyWhatTheDecoderWould(f *testing.F) {
	for _, text := range []string{"a: b\na: c", "a: b\n\"a\": c", "<<: {a: b}\na: c", "? {a: b}\n: c",
		"1: a\n0x1: b", "a: b\n---\na: c\na: d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := yamltext.Check([]byte(text))
		if err == nil || strings.Contains(err.Error(), "too many keys") {
			return
		}
		dec := yaml.NewDecoder(strings.NewReader(text))
		for {
			switch e := dec.Decode(new(any)); {
			case errors.Is(e, io.EOF):
				t.Fatalf("refused, and the decoder accepts it: %v", err)
			case e != nil:
				return
			}
		}
	})
}
