package main

import (
	"bytes"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestItGoesOnInAnotherProcessEveryHour(t *testing.T) {
	const want = `process 1: it is dormant with 1 of 3 notes, and this process can go
process 2: it is dormant with 2 of 3 notes, and this process can go
process 3: it has ended, read what there was:
  first: Tardigrades survive drying out: they curl into a tun, in which their metabolism falls below 0.01 percent of what it was.
  second: In 2007 tardigrades aboard FOTON-M3 survived ten days in the vacuum of open space.
  third: Human cells given the tardigrade protein Dsup had about 40 percent fewer breaks in their DNA after X-rays (2016).
`
	server := httptest.NewServer(library()) // outside of the bubble: it waits for nobody there
	defer server.Close()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		begun := time.Now()
		if err := run(t.Context(), new(perdure.MemStore), &out, server.URL, time.Hour); err != nil {
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
