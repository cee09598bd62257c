package view

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

// TestReadableJSONIsWhatJSONWrites: what is written without package json is what that would write.
func TestReadableJSONIsWhatJSONWrites(t *testing.T) {
	t.Parallel()
	texts := []string{"", "plain", "<a href=\"x\">&amp;</a>", "back\\slash", "line\nend", "größe", "\u2028", "\x7f",
		"\xff", "\x00", "tab\t", "\U0001F600"}
	all := []any{nil, true, false, int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), 1.5, uint64(7),
		[]byte{1, 2}, map[string]any(nil), map[string]any{}, []any{}}
	for _, text := range texts {
		all = append(all, text, map[string]any{text: text, "b": []any{text, nil}, "a": map[string]any{text: int64(1)}})
	}
	all = append(all, append([]any{}, all...))
	for _, v := range all {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		got, err := readableJSON(v)
		if err != nil || string(got)+"\n" != want.String() {
			t.Errorf("%#v is written as %s (%v), want %s", v, got, err, want.String())
		}
	}
}

// TestFieldsOverThoseOfARecordInside: a field is put in the place of one of that name in a record inside.
func TestFieldsOverThoseOfARecordInside(t *testing.T) {
	t.Parallel()
	type Inner struct {
		A string `json:"a"`
		B string `json:"b,omitempty"`
	}
	type outer struct {
		First string `json:"first"`
		Inner
		A     int64 `json:"a"`
		Empty []int `json:"empty,omitempty"`
	}
	for _, c := range []struct {
		of   any
		want string
	}{
		{outer{"1", Inner{"x", "y"}, 2, nil}, `{"first":"1","a":2,"b":"y"}`},
		{outer{}, `{"first":"","a":0}`},
		{struct{}{}, `{}`},
	} {
		if got, err := ReadableJSON(c.of); err != nil || string(got) != c.want {
			t.Errorf("%+v is %s (%v), want %s", c.of, got, err, c.want)
		}
	}
}
