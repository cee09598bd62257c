package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/view"
	"go.yaml.in/yaml/v3"
)

// WriteJSON writes one value as one line. What a terminal would not show as it is, is escaped by the rules of JSON.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(view.EscapeJSON(b.Bytes()))
	return err
}

// WriteYAML writes one value. What a terminal would not show as it is, is escaped by the rules of YAML.
func WriteYAML(w io.Writer, v any) error {
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		return err
	}
	quoteHidden(&n)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&n), enc.Close()); err != nil {
		return err
	}
	_, err := w.Write(escapeYAML(b.Bytes()))
	return err
}

// quoteHidden puts strings with hidden runes into double quotes, where YAML knows escapes.
func quoteHidden(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.ContainsFunc(n.Value, func(r rune) bool {
		return glyph.Hidden(r) && r != '\n' && r != '\t'
	}) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, inner := range n.Content {
		quoteHidden(inner)
	}
}
