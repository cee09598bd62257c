package tool

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAMatcherFindsWhatIsThere holds the matcher, which skips, against a search for each spelling.
func TestAMatcherFindsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		few := rapid.StringMatching(`[ab]{4,9}`)
		var all []spelling
		for i, text := range rapid.SliceOfN(few, 1, 6).Draw(r, "spellings") {
			all = append(all, spelling{text, string(rune('A' + i))})
		}
		text := []byte(rapid.StringMatching(`[abc]{0,60}`).Draw(r, "text"))
		want := false
		for _, s := range all {
			want = want || bytes.Contains(text, []byte(s.text))
		}
		if got := newMatcher(all).any(text); (got != nil) != want {
			r.Fatalf("%v in %q: got %v, want one: %v", all, text, got, want)
		}
	})
}

// The guard looks at a fraction of a text that holds no secret, and allocates nothing.
func TestAGuardSkips(t *testing.T) {
	m := newMatcher([]spelling{{"wJalrXUtnFEMIK7MDENG", "AWS"}})
	body := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200))
	looks := 0
	for at := m.begin(); at+4 <= len(body); at += max(1, m.skip(body, at)) {
		looks++
	}
	if most := len(body) / 8; looks > most {
		t.Errorf("%d looks at %d bytes, want at most %d", looks, len(body), most)
	}
	g := &Guard{m, m}
	if n := testing.AllocsPerRun(100, func() { _ = g.Check(body) }); n > 0 {
		t.Errorf("%v allocations for one check, want none", n)
	}
}
