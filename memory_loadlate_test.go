package perdure_test

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

// TestLateEntriesCostOneReading: an entry that belongs before every snapshot is found without reading the memory once
// per snapshot.
func TestLateEntriesCostOneReading(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("x")
	if err != nil {
		t.Fatal(err)
	}
	g := perdure.Genesis{Intent: perdure.Intent{Goal: "g"}, Charter: perdure.Charter{Scope: "test"}}
	e, err := key.Genesis(g, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	first, err := perdure.Begin(e)
	if err != nil {
		t.Fatal(err)
	}
	all := []*perdure.Entry{e}
	for a := first; len(all) < 400; {
		more, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Snapshot{Fold: *a.Fold()}})
		if err != nil {
			t.Fatal(err)
		}
		a, all = next, append(all, more...)
	}
	late, _, err := key.Commit(first, time.Now(), perdure.Draft{Body: perdure.Event{Name: "late"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &copytest.Counter{MemStore: new(perdure.MemStore)}
	if err := s.Put(t.Context(), first.ID(), slices.Concat(all, late)...); err != nil {
		t.Fatal(err)
	}
	trust := perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	a, err := trust.Load(t.Context(), s, first.ID())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.Fold().Inbox); n != 1 || s.Read > 8*len(all) {
		t.Errorf("%d entries were read of %d, and %d messages; want at most 8 times as many, and 1", s.Read,
			len(all), n)
	}
}
