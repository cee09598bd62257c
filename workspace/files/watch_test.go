package files

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// A watched folder is synced when a file changes, in a new folder, too, and when memory does; it ends when it is told.
func TestAWatchedFolderFollows(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "a\n")
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	reports, ended := make(chan *Report, 16), make(chan error, 1)
	go func() { ended <- p.Watch(ctx, func(r *Report) error { reports <- r; return nil }) }()
	await := func(what, file, status string) {
		t.Helper()
		for {
			select {
			case r := <-reports:
				for _, c := range r.Changes {
					if c.File == file && c.Status == status {
						return
					}
				}
			case err := <-ended:
				t.Fatalf("%s: it ended: %v", what, err)
			}
		}
	}
	await("at first", "a.md", Written)
	p.save("a.md", "a\nb\n")
	await("an edit", "a.md", Taken)
	p.save("deep/down/c.md", "c\n")
	await("a file in a new folder", "deep/down/c.md", Taken)
	p.save("deep/down/c.md", "c\nd\n")
	await("an edit there", "deep/down/c.md", Taken)
	p.write("agents/coder/e.md", "e\n")
	await("an agent", "e.md", Written)
	p.shows("e.md", "e\n")
	if err := os.Remove(p.file("e.md")); err != nil {
		t.Fatal(err)
	}
	await("a removed file", "e.md", PutBack)
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended: %v", err)
	}
}
