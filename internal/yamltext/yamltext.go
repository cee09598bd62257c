// Package yamltext bounds what it costs to decode YAML that somebody else wrote.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure/internal/canon"
)

// maxPairs bounds how many keys are compared with each other in a text: the decoder compares each key of a mapping with
// every other one, which takes a minute for 60,000. This many take a tenth of a second.
const maxPairs = 1 << 25

// MaxKeys is how many keys one mapping may have, if it is the only one.
const MaxKeys = 1 << 13

// Check refuses a text whose decoding would take long: one with too many keys in its mappings, or with a key twice, for
// which the decoder keeps an error for every two of its places. It takes time in proportion to the text. What is not
// YAML it leaves to the decoder, whose error says where.
func Check(text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	pairs := 0
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return nil
		}
		if err := check(&doc, &pairs); err != nil {
			return err
		}
	}
}

// check looks at a node and what is in it. How deep that goes, the parser bounds.
func check(n *yaml.Node, pairs *int) error {
	if n.Kind == yaml.MappingNode {
		keys := len(n.Content) / 2
		if *pairs += keys * (keys - 1) / 2; *pairs > maxPairs {
			return fmt.Errorf("line %d: there are too many keys: %d in this mapping, and %d are the most, fewer if "+
				"there are several as large; use a list, or several files", n.Line, keys, MaxKeys)
		}
		seen := make(map[string]*yaml.Node, keys)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if was := seen[key.Value]; was != nil {
				return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: mapping key %q already defined at line "+
					"%d",
					key.Line, key.Value, was.Line)}}
			}
			seen[key.Value] = key
		}
	}
	for _, inner := range n.Content {
		if err := check(inner, pairs); err != nil {
			return err
		}
	}
	return nil
}

// Unmarshal is yaml.Unmarshal of a text that passes Check.
func Unmarshal(text []byte, to any) error {
	if err := Check(text); err != nil {
		return err
	}
	return yaml.Unmarshal(text, to)
}

// ErrRounds is that a number would not be kept as it was written.
var ErrRounds = errors.New("it has too many digits to be kept exactly; write it as text, in quotes")

// Exact refuses (ErrRounds) a number that a decoder would round without a word, anywhere in a node: an integer of so
// many digits that it becomes a float which is another one. What is in quotes is text, and no number.
func Exact(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!float" {
		digits := strings.ReplaceAll(strings.TrimPrefix(n.Value, "+"), "_", "")
		if strings.Trim(digits, "-0123456789") == "" && !canon.Exact(digits) {
			return fmt.Errorf("line %d: %s: %w", n.Line, n.Value, ErrRounds)
		}
	}
	for _, inner := range n.Content {
		if err := Exact(inner); err != nil {
			return err
		}
	}
	return nil
}

var (
	unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongKind    = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: (`[^`]*`))? into (\\S+?)(;|$)")
)

// Plain is what a decoder says is wrong, in the words of whoever wrote the text. Kinds are Go types in words.
func Plain(err error, kinds map[string]string) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		if err == nil || !strings.HasPrefix(err.Error(), "yaml: ") {
			return err
		}
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	text := unknownField.ReplaceAllString(strings.Join(wrong.Errors, "; "), "there is no field $1")
	// a decoder breaks the names of types that it has none for
	text = strings.ReplaceAll(text, "interface {}", "any")
	return errors.New(wrongKind.ReplaceAllStringFunc(text, func(all string) string {
		m := wrongKind.FindStringSubmatch(all)
		got, want := m[2], m[3]
		switch {
		case m[1] == "seq":
			got = "a list"
		case m[1] == "map":
			got = "names with values"
		case got == "":
			got = "nothing"
		}
		if words := kinds[want]; words != "" {
			want = words
		}
		return "got " + got + ", want " + want + m[4]
	}))
}
