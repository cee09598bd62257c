package perdure_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

// formEntries are a genesis, an advice inside a commit and the decision that seals it.
func formEntries(t *testing.T) []*perdure.Entry {
	t.Helper()
	s, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(1_700_000_000_000)
	g, err := s.Genesis(perdure.Genesis{
		Intent:  perdure.Intent{Name: "watch", Goal: "watch the door", Labels: map[string]string{"team": "ops"}},
		Charter: perdure.Charter{Scope: "acme/ops"},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	args, err := perdure.DataOf(map[string]any{"$path": "/tmp", "n": 1.0, "raw": []byte{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	act := perdure.Execute{Tool: "read", Args: args}
	more, _, err := s.Commit(a, now,
		perdure.Draft{Body: perdure.Advice{Advisor: "fixed", Actions: []perdure.Action{act}}},
		perdure.Draft{Body: perdure.Decision{Action: act, Verdict: perdure.Verdict{Answer: perdure.Deny}}})
	if err != nil {
		t.Fatal(err)
	}
	return append([]*perdure.Entry{g}, append(more, more[1].Drop())...)
}

func TestEveryFormOfAnEntryIsTheSameEntry(t *testing.T) {
	for _, e := range formEntries(t) {
		want, err := e.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []struct {
			name string
			to   func(*perdure.Entry) ([]byte, error)
			from func([]byte, perdure.Limits) (*perdure.Entry, error)
		}{
			{"text", func(e *perdure.Entry) ([]byte, error) { return e.AppendText(nil) }, perdure.EntryFromText},
			{"described", (*perdure.Entry).Described, perdure.EntryFromDescribed},
		} {
			b, err := form.to(e)
			if err != nil {
				t.Fatalf("%s to %s: %v", e.Kind, form.name, err)
			}
			back, err := form.from(b, perdure.Limits{})
			if err != nil {
				t.Fatalf("%s from %s: %v\n%s", e.Kind, form.name, err, b)
			}
			got, err := back.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) || back.Name != e.Name {
				t.Errorf("%s by way of %s: got %x, want %x", e.Kind, form.name, got, want)
			}
			if _, err := form.from(append(b, ' '), perdure.Limits{}); !errors.Is(err, perdure.ErrRejected) {
				t.Errorf("%s in %s with a byte after it: got %v, want a rejection", e.Kind, form.name, err)
			}
		}
	}
}

func TestTextOfAChangedBodyIsRejected(t *testing.T) {
	text, err := formEntries(t)[0].AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = perdure.EntryFromText(bytes.Replace(text, []byte("watch the door"), []byte("watch the moor"), 1),
		perdure.Limits{})
	var r *perdure.Rejection
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a rejection", err)
	}
	if diff := cmp.Diff("body.hash", r.Predicate); diff != "" {
		t.Error(diff)
	}
}

func TestForgedSignatureIsRejectedOnItsOwn(t *testing.T) {
	entries := formEntries(t)
	for _, e := range entries {
		if err := e.CheckSignature(); err != nil {
			t.Errorf("%s: %v", e.Kind, err)
		}
	}
	b, err := entries[0].MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1 // the end of the signature
	forged, err := perdure.DecodeEntry(b, perdure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var r *perdure.Rejection
	if err := forged.CheckSignature(); !errors.As(err, &r) || r.Predicate != "entry.signed" {
		t.Errorf("got %v, want entry.signed", err)
	}
}

// TestOnlyValuesAreWritten refuses pointers to bodies, actions and notices, which no type switch would meet, and a
// draft without a body.
func TestOnlyValuesAreWritten(t *testing.T) {
	s, err := perdure.GenerateSigner("ann")
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "g"}, Charter: perdure.Charter{Scope: "a"}},
		time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]perdure.Body{
		"nothing":             nil,
		"a pointer":           &perdure.Event{Name: "x"},
		"a pointer in advice": perdure.Advice{Actions: []perdure.Action{&perdure.End{Signal: perdure.OK}}},
		"a pointer in events": perdure.Event{Name: "x", Notice: &perdure.Pause{}},
	} {
		if _, _, err := s.Commit(a, time.Now(), perdure.Draft{Body: b}); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
