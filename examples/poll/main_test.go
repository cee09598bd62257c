package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestItWakesWhenTheJobIsDone(t *testing.T) {
	const want = `  report is started
  report is running
  report is running
  report is done
  report is done
it has ended, ok: "https://reports.example/report"; the advisor was asked 4 times
`
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(t.Context(), new(perdure.MemStore), &out, 10*time.Second, 3); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestItsPatienceHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		begun := time.Now()
		if err := run(t.Context(), new(perdure.MemStore), &out, time.Minute, 1_000_000); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "it has ended, timed-out") || time.Since(begun) < time.Hour {
			t.Errorf("after %s: %s", time.Since(begun), out.String())
		}
	})
}
