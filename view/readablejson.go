package view

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// ReadableJSON is Readable as JSON.
func ReadableJSON(v any) ([]byte, error) { return readableJSON(Readable(v)) }

func readableJSON(v any) ([]byte, error) {
	w := jsonWriter{b: new(bytes.Buffer)}
	w.b.Grow(smallJSON)
	err := w.write(v)
	return w.b.Bytes(), err
}

// smallJSON is how long most answers are at most.
const smallJSON = 1 << 10

// jsonWriter writes records within records in one go, and most of what is in them: what json makes of each would be
// read again by the one around it.
type jsonWriter struct {
	b   *bytes.Buffer
	enc *json.Encoder // of what it does not write itself
}

func (w *jsonWriter) write(v any) error {
	switch x := v.(type) {
	case object:
		return w.list('{', '}', len(x), func(i int) error { return w.member(x[i].name, x[i].value) })
	case []any:
		return w.list('[', ']', len(x), func(i int) error { return w.write(x[i]) })
	case map[string]any:
		if x == nil {
			return w.encode(v)
		}
		names := slices.Sorted(maps.Keys(x))
		return w.list('{', '}', len(names), func(i int) error { return w.member(names[i], x[names[i]]) })
	case string:
		if isPlain(x) {
			w.b.WriteByte('"')
			w.b.WriteString(x)
			w.b.WriteByte('"')
			return nil
		}
	case nil:
		w.b.WriteString("null")
		return nil
	case bool:
		w.b.Write(strconv.AppendBool(w.b.AvailableBuffer(), x))
		return nil
	case int64:
		w.b.Write(strconv.AppendInt(w.b.AvailableBuffer(), x, 10))
		return nil
	}
	return w.encode(v)
}

// member writes a name and what is there.
func (w *jsonWriter) member(name string, value any) error {
	if err := w.write(name); err != nil {
		return err
	}
	w.b.WriteByte(':')
	return w.write(value)
}

// encode leaves a value to json.
func (w *jsonWriter) encode(v any) error {
	if w.enc == nil {
		w.enc = json.NewEncoder(w.b)
		w.enc.SetEscapeHTML(false)
	}
	err := w.enc.Encode(v)
	if err == nil {
		w.b.Truncate(w.b.Len() - 1) // the end of the line
	}
	return err
}

// isPlain reports whether JSON spells a text as it is. It may say no of one that it does.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// list writes n things between two brackets.
func (w *jsonWriter) list(begin, end byte, n int, each func(i int) error) error {
	w.b.WriteByte(begin)
	for i := range n {
		if i > 0 {
			w.b.WriteByte(',')
		}
		if err := each(i); err != nil {
			return err
		}
	}
	w.b.WriteByte(end)
	return nil
}
