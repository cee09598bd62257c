package jsontext_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/jsontext"
)

func TestAKeyTwiceIsRefusedAtAnyDepth(t *testing.T) {
	for text, twice := range map[string]bool{
		`{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}`: false, `{"a":"a","b":"a"}`: false, `["a","a"]`: false, `"a"`: false,
		`{"a":1,"a":1}`: true, `{"a":1,"\u0061":1}`: true, `[{"x":{"b":[],"c":"b","b":{}}}]`: true,
		`{"a":[1,{"b":2}],"a":3}`: true, `{"a":{},"a":{}}`: true, `{"a":1,`: false, ``: false, `}`: false,
		strings.Repeat("[", 1<<20): false, `{"a\\":1,"a\"":2,"a":3}`: false, `{"a\"":1, "b":[1 ,2] ,"a\"" : 2}`: true,
		`"a":1,"a":1`: false, `12 `: false, ` true`: false, `{"a":"\\","a":""}`: true,
	} {
		err := jsontext.Once([]byte(text))
		if (err != nil) != twice {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

func TestATextOfVeryManyValuesIsRefused(t *testing.T) {
	for _, text := range []string{
		"[" + strings.Repeat("0,", 200_000) + "0]", "[" + strings.Repeat("{},", 200_000) + "0]",
		"[" + strings.Repeat(`{"a":0},`, 80_000) + "0]", "[" + strings.Repeat(`"",`, 200_000) + "0]",
	} {
		if err := jsontext.Once([]byte(text)); err == nil || !strings.Contains(err.Error(), "200000 values") {
			t.Errorf("%.20s…: %v", text, err)
		}
	}
	if err := jsontext.Once([]byte("[" + strings.Repeat("0,", 199_000) + "0]")); err != nil {
		t.Errorf("of fewer: %v", err)
	}
	if err := jsontext.Once([]byte(`["` + strings.Repeat("[{,", 1<<20) + `"]`)); err != nil {
		t.Errorf("in a string: %v", err)
	}
}
