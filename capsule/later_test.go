package capsule

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/testformat"
)

// laterMemory is a memory whose last entry is of a format of the future.
func laterMemory(t *testing.T, note string) []*perdure.Entry {
	t.Helper()
	testformat.Register()
	s, err := perdure.GenerateSigner("ann")
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "watch"}, Charter: perdure.Charter{Scope: "acme"}},
		time.UnixMilli(1))
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	data, err := perdure.DataOf(note)
	if err != nil {
		t.Fatal(err)
	}
	today, _, err := s.Commit(a, time.UnixMilli(2), perdure.Draft{Body: perdure.Event{Name: "told", Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	later, err := testformat.Rewrite(s, today[0])
	if err != nil {
		t.Fatal(err)
	}
	return []*perdure.Entry{g, later}
}

// A large body is in chunks.
func TestEntriesOfALaterFormatTravelInEveryForm(t *testing.T) {
	for _, note := range []string{"short", strings.Repeat("long ", 60_000)} {
		all := laterMemory(t, note)
		id := all[0].ID()
		s := new(perdure.MemStore)
		if err := s.Put(t.Context(), id, all...); err != nil {
			t.Fatal(err)
		}
		for _, form := range forms {
			var b bytes.Buffer
			if _, err := Export(t.Context(), &b, s, id, Options{Form: form}); err != nil {
				t.Fatalf("%v: %v", form, err)
			}
			back, err := OpenStore(filepath.Join(t.TempDir(), "agent.perdure"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Import(t.Context(), back, bytes.NewReader(b.Bytes()),
				ImportOptions{Anyone: true}); err != nil {
				t.Fatalf("%v: %v", form, err)
			}
			a, err := perdure.Load(t.Context(), back, id)
			if err != nil {
				t.Fatalf("%v: %v", form, err)
			}
			inbox := a.Fold().Inbox
			if len(inbox) != 1 || inbox[0].Data.Text() != note {
				t.Errorf("%v: got %d messages, want what the entry says", form, len(inbox))
			}
			if heads := a.Heads(); len(heads) != 1 || heads[0] != all[1].Name {
				t.Errorf("%v: got heads %v, want %s", form, heads, all[1].Name)
			}
			if err := back.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
