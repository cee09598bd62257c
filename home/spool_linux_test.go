package home

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// A disk that is full where an agent arrives is said in words, and what came of it is dropped: the home needs the room.
func TestAFullDiskKeepsNothingThatArrives(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("sender")
	if err != nil {
		t.Fatal(err)
	}
	e, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "arrive"},
		Charter: perdure.Charter{Scope: "x"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = full.Close() }()
	s := &spool{f: full, id: e.ID(), most: maxArrival}
	err = s.roomless(s.fill(func(yield func(*perdure.Entry, error) bool) { yield(e, nil) }))
	var hint *perdure.Hint
	if err == nil || !strings.Contains(err.Error(), "disk is full") || !errors.As(err, &hint) || !s.drop {
		t.Errorf("%v, dropped %v; want that there is no room, what to do, and that it is dropped", err, s.drop)
	}
}
