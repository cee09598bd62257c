package archtest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	// rooms are the first words of files of the root package, see docs/architecture.md.
	rooms = []string{"entry", "key", "memory", "fold", "plan", "node", "store", "trust"}
	// ownRoom are the files that are no room's own.
	ownRoom = []string{"doc.go", "powers.go", "limits.go", "errors.go"}
)

// inRoom reports whether the name of a file of the root package says where it belongs.
func inRoom(name string) bool {
	if slices.Contains(ownRoom, name) {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
	return slices.Contains(rooms, first) || first == "example" && strings.HasSuffix(name, "_test.go")
}

func TestFilesOfTheRootAreInARoom(t *testing.T) {
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		if name := filepath.Base(path); !inRoom(name) {
			t.Errorf("%s: begin its name with the room it is in, one of %s", name, strings.Join(rooms, ", "))
		}
	}
	for name, want := range map[string]bool{"vote_test.go": false, "deeds.go": false, "node_vote_test.go": true,
		"example_data_test.go": true, "example_data.go": false} {
		if inRoom(name) != want {
			t.Errorf("%s is in a room: %v, want %v", name, !want, want)
		}
	}
}
