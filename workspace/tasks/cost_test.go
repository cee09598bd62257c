package tasks_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Whoever may write a list decides what it costs to read: no more than so many times its size, however it is nested.
func TestReadingAListCostsAsMuchAsItIsLong(t *testing.T) {
	var nested, wide strings.Builder
	for i := range 700 {
		fmt.Fprintf(&nested, "%s- [ ] %d %s\n", strings.Repeat(" ", i), i, strings.Repeat("x", 500))
	}
	fmt.Fprintf(&wide, "# %s\n", strings.Repeat("h", 200_000))
	for i := range 10_000 {
		fmt.Fprintf(&wide, "- [ ] %d\n", i)
	}
	for name, text := range map[string]string{"nested": nested.String(), "under a long heading": wide.String(),
		"with much text": "- [ ] a\n" + strings.Repeat("  b\n", 20_000),
		"behind a text":  strings.Repeat("b\n", 40_000) + "- [ ] a\n"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l := parse(t, "TASKS.md", text)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 200*uint64(len(text)) {
			t.Errorf("%s: %d bytes for a list of %d", name, got, len(text))
		}
		last := l.Tasks[len(l.Tasks)-1]
		b, _, err := l.Tick(last.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(b), "- [x]", "- [ ]"); got != text {
			t.Errorf("%s: a tick changed more than boxes", name)
		}
		if after := parse(t, "TASKS.md", string(b)).Find(last.ID); after == nil || !after.Done {
			t.Errorf("%s: it is not done after it was ticked", name)
		}
	}
}
