package view

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Sent is embedded in values that a server may have sent: programs are shown what came, with fields of a newer server
// that this one does not know.
type Sent struct {
	JSON SentJSON `json:"-"` // nil: it was made here
}

// SentJSON is a value as a server sent it.
type SentJSON json.RawMessage

// MarshalJSON is what came.
func (s SentJSON) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// MarshalYAML is the same as YAML.
func (s SentJSON) MarshalYAML() (any, error) {
	d, err := perdure.DataFromJSON(s)
	if err != nil {
		return nil, err
	}
	return d.Value(), nil
}
