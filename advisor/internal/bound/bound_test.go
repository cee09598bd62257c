package bound

import (
	"strings"
	"testing"
)

func FuzzTextStaysText(f *testing.F) {
	f.Add("añb", 2)
	f.Add(strings.Repeat("ü", 100), 31)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n > 1<<20 {
			return
		}
		got := Text(s, n)
		if strings.ToValidUTF8(got, "") != got {
			t.Errorf("Text(%q, %d) is not UTF-8: %q", s, n, got)
		}
	})
}
