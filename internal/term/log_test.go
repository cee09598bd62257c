package term

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestLogsForPeopleAreReadable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	log := slog.New(NewLog(&b, slog.LevelInfo))
	log.Debug("not shown")
	log.With("agent", "news", "id", "0f3c").Info("performed", "action", "http.get", "signal", "ok", "note", "")
	log.Error("tool panicked", "agent", "news", "panic", "nil map", "stack", "goroutine 1:\nmain.go:12\n\tcalled\n")
	log.Warn("odd", "note", "two\nlines")
	got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `).ReplaceAllString(b.String(), "")
	want := `news performed, action http.get, signal ok
news error: tool panicked, panic nil map
    goroutine 1:
    main.go:12
      called
warning: odd
    two
    lines
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
