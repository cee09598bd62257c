package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestEveryStepIsDoneOnceWhateverProcessIsThere(t *testing.T) {
	const want = `the first process
  reserve a book
the second process, in which the payment arrives
  charge 1200 cents to visa
the third process, a day later
  ship the book from shelf 7
a book from shelf 7, paid with charge 41
`
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(t.Context(), new(perdure.MemStore), &out, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	})
}
