package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// A log with zeros at its end, as a process leaves it that was killed, is read up to them.
func TestALogThatWasLengthenedIsReadToItsEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "be told"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	const told = 60
	for i := range told {
		if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: "told", ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil || info.Size() < 2<<20 {
		t.Fatalf("the log has %d bytes, %v, want it lengthened", info.Size(), err)
	}
	// What kill -9 would leave, elsewhere.
	copied := filepath.Join(t.TempDir(), "store.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := sqlite.Open(t.Context(), copied, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	got, err := perdure.Load(t.Context(), again, a.ID())
	if err != nil || got.Fold().Count != told+1 {
		t.Fatalf("got %v entries, %v, want %d", got.Fold().Count, err, told+1)
	}
	n = &perdure.Node{Store: again, Key: key}
	if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: "told", ID: fmt.Sprint(time.Now())}); err != nil {
		t.Error(err)
	}
}
