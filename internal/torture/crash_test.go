//go:build unix

package torture

import (
	"strings"
	"testing"
)

// record does the workload on a disk that forgets some syncs.
func record(t *testing.T, forget func(Op) bool) *workload {
	t.Helper()
	d := newDisk(t)
	d.Forget = forget
	w := newWorkload(d)
	for i, step := range w.course() {
		if err := step(t.Context()); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	return w
}

func TestStoreSurvivesEveryCut(t *testing.T) {
	t.Parallel()
	w := record(t, nil)
	trace := w.d.Trace()
	states, found := explore(t, trace, false, func(dir string, c Crash) error { return w.check(dir, c.Marks) })
	t.Logf("%d operations, %d states", len(trace), states)
	if len(found) > 0 {
		t.Fatalf("states that are wrong, seed %d:\n%s", seed(), strings.Join(found, "\n"))
	}
}

func TestSyncLeftOutOfTheStoreIsNoticed(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(Op) bool{
		"log":             func(o Op) bool { return o.Kind == Sync && strings.HasSuffix(o.Path, "-wal") },
		"main file":       func(o Op) bool { return o.Kind == Sync && o.Path == storeFile },
		"blob":            func(o Op) bool { return o.Kind == Sync && strings.Contains(o.Path, "-blobs/") },
		"folder of blobs": func(o Op) bool { return o.Kind == SyncDir && strings.HasSuffix(o.Path, "-blobs") },
		"folder":          func(o Op) bool { return o.Kind == SyncDir && o.Path == "." },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := record(t, forget)
			states, found := explore(t, w.d.Trace(), true, func(dir string, c Crash) error { return w.check(dir, c.Marks) })
			if len(found) == 0 {
				t.Fatalf("none of %d states is wrong: the harness would not notice that this sync is missing", states)
			}
			t.Logf("of %d states one is wrong: %s", states, found[0])
		})
	}
}
