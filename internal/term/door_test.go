package term

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestADoorShowsWhatIsHidden(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext ä 日本":              "plain\n\ttext ä 日本",
		"\x1b[31mred\x1b[0m":              `\x1b[31mred\x1b[0m`,
		"a\rb\x00\x7f":                    `a\rb\x00\x7f`,
		"\u0085\u009b":                    `\u0085\u009b`,
		"\u202eabc\u2066":                 `\u202eabc\u2066`,
		"\u200b\ufeff\u2028":              `\u200b\ufeff\u2028`,
		"\U000e0041":                      `\U000e0041`,
		"\xff\xfe\x80a":                   `\xff\xfe\x80a`,
		"\xe2\x82":                        `\xe2\x82`,
		ownMark[:5]:                       `\xff` + ownMark[1:5],
		"e\u0301":                         "e\u0301",
		"e" + strings.Repeat("\u0301", 6): "e" + strings.Repeat("\u0301", 4) + `\u0301\u0301`,
		own("\x1b[1m") + "bold":           "\x1b[1mbold",
	} {
		for _, chunk := range []int{1, 3, len(in)} { // however it is written
			var b bytes.Buffer
			d := NewDoor(&b)
			for rest := in; rest != ""; rest = rest[min(chunk, len(rest)):] {
				if _, err := io.WriteString(d, rest[:min(chunk, len(rest))]); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			if b.String() != want {
				t.Errorf("%q in writes of %d: got %q, want %q", in, chunk, b.String(), want)
			}
		}
	}
}
