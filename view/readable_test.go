package view

import (
	"strings"
	"testing"
)

// TestAFieldIsWrittenOnce: a field of a record counts before one of the same name in a record inside it, wherever that
// stands.
func TestAFieldIsWrittenOnce(t *testing.T) {
	t.Parallel()
	type Inner struct {
		About string `json:"about"`
		Fault string `json:"fault"`
	}
	type before struct {
		About string `json:"about"`
		*Inner
	}
	type after struct {
		*Inner
		About string `json:"about"`
	}
	inner := &Inner{"inner", "none"}
	for _, v := range []any{before{"outer", inner}, after{inner, "outer"}} {
		b, err := ReadableJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), `"about"`); n != 1 || !strings.Contains(string(b), "outer") {
			t.Errorf("%T is %s", v, b)
		}
	}
}

// What is readable already stays as it is: differences hold values that were made readable.
func TestADifferenceIsReadAsItIs(t *testing.T) {
	type part struct {
		Name string `json:"name"`
	}
	type whole struct {
		Parts []part `json:"parts,omitempty"`
	}
	found := Compare(Readable(whole{}), Readable(whole{[]part{{"a"}, {"b"}}}))
	got, err := ReadableJSON(found)
	if want := `[{"path":"parts","to":[{"name":"a"},{"name":"b"}]}]`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
