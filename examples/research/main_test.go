package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestItGoesOnInAnotherProcessEveryHour(t *testing.T) {
	const want = `  search for tardigrades, page 1
process 1: it is dormant after 9 entries, and this process can go
  search for tardigrades, page 2
process 2: it is dormant after 18 entries, and this process can go
  search for tardigrades, page 3
process 3: it has ended, read three pages about tardigrades: {"first":"tardigrades, finding 1","second":"tardigrades, finding 2","third":"tardigrades, finding 3"}
`
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		begun := time.Now()
		if err := run(t.Context(), new(perdure.MemStore), &out, time.Hour); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(begun); took < 2*time.Hour {
			t.Errorf("it took %s, want two hours at least", took)
		}
	})
}
