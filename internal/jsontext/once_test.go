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
		strings.Repeat("[", 1<<20): false,
	} {
		err := jsontext.Once([]byte(text))
		if (err != nil) != twice {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}
