package perdure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure"
)

// TestDocumentsAreAMatterOfRecord: a document is in memory and nowhere else: not in the inbox, and an agent that sleeps
// sleeps on. Told twice under one id, it is one.
func TestDocumentsAreAMatterOfRecord(t *testing.T) {
	t.Parallel()
	asked := 0
	sleep := perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
		asked++
		nap := perdure.Sleep{Trigger: perdure.On{Event: "morning"}}
		return perdure.Advice{Actions: []perdure.Action{nap}}, nil
	})
	n := newNode(t, new(perdure.MemStore), sleep)
	id := create(t, n, perdure.Genesis{})
	run := func() {
		t.Helper()
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	run()
	text, err := perdure.DataOf("Sow in March.")
	if err != nil {
		t.Fatal(err)
	}
	d := perdure.Document{Path: "plans/spring.md", Title: "Spring", Body: text}
	before := load(t, n.Store, id)
	for range 2 {
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "document", ID: "1", Notice: d}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	after := load(t, n.Store, id)
	if asked != 1 || len(after.Inbox) != 0 || after.Sleep == nil || after.State() != before.State() {
		t.Errorf("asked %d times, inbox %v, %s; want 1, nothing and %s", asked, after.Inbox, after.State(),
			before.State())
	}
	found := 0
	for e, err := range n.Store.Entries(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok {
			if got, ok := ev.Notice.(perdure.Document); ok && got.Path == d.Path && string(got.Body) == string(text) {
				found++
			}
		}
	}
	if found != 1 {
		t.Errorf("%d documents in memory, want 1", found)
	}
}

// TestDocumentsHaveAPlace: a document whose path leads elsewhere is refused before it is stored.
func TestDocumentsHaveAPlace(t *testing.T) {
	t.Parallel()
	n := newNode(t, new(perdure.MemStore), nil)
	id := create(t, n, perdure.Genesis{})
	for _, path := range []string{"", ".", "/etc/passwd", "../key", "a/../b", "a//b", "a/", "a\x00b", `a\b`, "a\x1bb"} {
		_, err := n.Tell(t.Context(), id, perdure.Event{Name: "document", Notice: perdure.Document{Path: path}})
		var r *perdure.Rejection
		if !errors.As(err, &r) || r.Predicate != "document.path" && r.Predicate != "canon.text" {
			t.Errorf("%q: %v, want document.path", path, err)
		}
	}
}
