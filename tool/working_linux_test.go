package tool_test

import (
	"os"
	"slices"
	"testing"

	"github.com/perdure/perdure/tool"
)

func TestCallsUnderWayAreSeen(t *testing.T) {
	t.Parallel()
	one, two := tool.Working("one of two"), tool.Working("two of two")
	again := tool.Working("one of two")
	seen := func(key string, want bool) {
		t.Helper()
		if got := slices.Contains(tool.Survivors(key), os.Getpid()); got != want {
			t.Errorf("this process is seen at work on %s: %v, want %v", key, got, want)
		}
	}
	seen("one of two", true)
	seen("two of two", true)
	seen("one", false)
	seen("", false)
	one()
	one()
	seen("one of two", true)
	again()
	seen("one of two", false)
	seen("two of two", true)
	two()
	seen("two of two", false)
}

func BenchmarkWorking(b *testing.B) {
	for b.Loop() {
		tool.Working("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")()
	}
}
