package roff_test

import (
	"testing"

	"github.com/perdure/perdure/internal/roff"
)

func TestTextIsWhatItSaysOnAPage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{".x": `\&.x`, "'x": `\&'x`, `a\b --c`: `a\eb \-\-c`,
		"…é-\\": `\[u2026]\[u00E9]\-\e`} {
		if got := roff.Escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	got := roff.Paragraphs("one\ntwo\n\nthree\n  a list\n  of two\n\nfour")
	want := "one\ntwo\n.PP\nthree\n.nf\n  a list\n  of two\n\n.fi\nfour\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := roff.Verbatim("  a\n.b\n\n"), ".nf\n  a\n\\&.b\n.fi\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
