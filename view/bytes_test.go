package view_test

import (
	"testing"

	"github.com/perdure/perdure/view"
)

func TestBytesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "4096": 4096, "64KiB": 64 << 10, "1GiB": 1 << 30,
		"1024GiB": 1 << 40} {
		if got, err := view.ParseBytes(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1kb", "1025GiB", "x"} {
		if got, err := view.ParseBytes(text); err == nil {
			t.Errorf("%q is taken for %d bytes", text, got)
		}
	}
	if got := view.BytesText(3 << 19); got != "1.5 MiB" {
		t.Errorf("got %s", got)
	}
}
