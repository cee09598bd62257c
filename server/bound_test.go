package server_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// TestPagesAreBoundedInBytes reads events that are larger than a page, from both ends.
func TestPagesAreBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "big"}, 201, nil)
	const events = 5
	for range events {
		w.call(all, "POST", "/v1/agents/big/events", client.Event{Name: "told",
			Data: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}, 200, nil)
	}
	seen, pages := 0, 0
	for after := ""; ; pages++ {
		var got client.Lines
		w.call(all, "GET", "/v1/agents/big/entries?limit=1000&kind=event&after="+after, nil, 200, &got)
		if seen += len(got.Entries); len(got.Entries) > 3 {
			t.Errorf("a page has %d entries of a megabyte", len(got.Entries))
		}
		if after = got.Next; after == "" {
			break
		}
	}
	if seen != events || pages == 0 {
		t.Errorf("saw %d of %d events on %d pages", seen, events, pages+1)
	}
	var last client.Lines
	w.call(all, "GET", "/v1/agents/big/entries?last=100", nil, 200, &last)
	if len(last.Entries) == 0 || len(last.Entries) > 3 || !last.Before {
		t.Errorf("the last %d entries, and before them more: %v", len(last.Entries), last.Before)
	}
}
