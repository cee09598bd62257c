package dir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// TestATornAppendLeavesWhatWasThere cuts the file of an agent at every byte of its last append, and puts other bytes
// in the place of what never reached the disk. What was there before can be read, an append is there whole or not at
// all, and the next one is written where it ended.
func TestATornAppendLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	for _, binary := range []bool{false, true} {
		t.Run(map[bool]string{false: "text", true: "binary"}[binary], func(t *testing.T) {
			t.Parallel()
			tearAppend(t, binary)
		})
	}
}

func tearAppend(t *testing.T, binary bool) {
	t.Helper()
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	s, err := Open(folder, Options{Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "stay", Name: "torn"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.agent"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v, want one file", files, err)
	}
	size := func() int {
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return int(info.Size())
	}
	var sizes []int
	for range 2 {
		entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "one"}},
			perdure.Draft{Body: perdure.Event{Name: "two"}})
		if err == nil {
			err = s.Append(t.Context(), a.ID(), a.Heads(), entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		a, sizes = next, append(sizes, size())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for cut := sizes[0]; cut < sizes[1]; cut += 1 + min(cut-sizes[0], sizes[1]-cut)/16 {
		for _, filler := range []string{"nothing", "zeros"} {
			torn := append([]byte{}, whole[:cut]...)
			if filler == "zeros" {
				torn = append(torn, make([]byte, sizes[1]-cut)...)
			}
			where := fmt.Sprint(cut, " of ", sizes, ", ", filler)
			checkTorn(t, key, a.ID(), filepath.Base(files[0]), torn, binary, where)
		}
	}
}

// checkTorn opens a file that was torn, and goes on with it.
func checkTorn(t *testing.T, key *perdure.Signer, id perdure.AgentID, name string, torn []byte, binary bool,
	where string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), torn, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(folder, Options{Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	count := func() (n int) {
		for _, err := range s.Entries(t.Context(), id, 0) {
			if err != nil {
				t.Errorf("cut at %s after it: %v, %v", where, err, s.Faults())
				return -1
			}
			n++
		}
		return n
	}
	if n := count(); n != 3 {
		t.Errorf("cut at %s after it: %d entries, want the 3 from before", where, n)
		return
	}
	if _, err := (&perdure.Node{Store: s, Key: key}).Tell(t.Context(), id, perdure.Event{Name: "more"}); err != nil {
		t.Errorf("cut at %s after it: %v", where, err)
	}
	if n := count(); n != 4 {
		t.Errorf("cut at %s after it: %d entries after one more, want 4", where, n)
	}
}

// A file may be of any size: what is looked for in one that is no memory is looked for a piece at a time.
func TestAHugeFileThatIsNoMemoryTakesNoMemory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "huge.agent")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 4<<30)); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Ailing(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
		t.Errorf("it took %d MiB", took>>20)
	}
}
