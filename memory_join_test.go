package perdure_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// overtaken is a store to which somebody else adds entries just before its memory is read for the at-th time.
type overtaken struct {
	*perdure.MemStore
	at      int
	entries []*perdure.Entry
}

func (s *overtaken) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	if s.at--; s.at == 0 {
		if err := s.Put(ctx, id, s.entries...); err != nil {
			return func(yield func(perdure.Item, error) bool) { yield(perdure.Item{}, err) }
		}
	}
	return s.MemStore.Entries(ctx, id, after)
}

// TestWhatComesTwiceAtOnceJoins: entries that arrive by another way while they are joined are no entries twice.
func TestWhatComesTwiceAtOnceJoins(t *testing.T) {
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
	for a := first; len(all) < 10; {
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
	trust := perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	for at := 1; ; at++ {
		s := &overtaken{new(perdure.MemStore), at, late}
		if err := s.Put(t.Context(), first.ID(), all...); err != nil {
			t.Fatal(err)
		}
		a, _, err := trust.Join(t.Context(), s, first.ID(), func(yield func(*perdure.Entry, error) bool) {
			for _, e := range late {
				if !yield(e, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Errorf("overtaken before reading %d: %v", at, err)
		} else if !slices.Contains(a.Heads(), late[len(late)-1].Name) {
			t.Errorf("overtaken before reading %d: it is not there", at)
		}
		if s.at > 0 { // it was never read so often
			break
		}
	}
}
