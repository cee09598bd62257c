package nats

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/enginetest"
)

// TestAServerThatIsBehindIsAskedAgain has a stream be unknown for a moment, as it is to one that has just come to lead
// the others: whatever is asked about it waits.
func TestAServerThatIsBehindIsAskedAgain(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	row := s.streams.row
	for name, ask := range map[string]func() error{
		"read":  func() error { _, err := s.get(t.Context(), row, query{Last: ">"}); return err },
		"look":  func() error { _, err := s.info(t.Context(), row); return err },
		"purge": func() error { return s.purge(t.Context(), row, s.streams.prefix+"page.*", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			info, err := s.info(t.Context(), row)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.unmake(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			back := make(chan error, 1)
			time.AfterFunc(300*time.Millisecond, func() {
				back <- s.api(t.Context(), "STREAM.CREATE", row, info.Config, new(streamInfo))
			})
			if err := ask(); err != nil {
				t.Error(err)
			}
			if err := <-back; err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestAnOlderListingReplacesNoNewerOne lists an agent by a process that has not seen what others added and listed.
func TestAnOlderListingReplacesNoNewerOne(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	other := open(t, urlAt(serverEnv, t.Name()), Options{})
	w := enginetest.NewWriter(t, s)
	before := w.Agent
	if err := w.Write(t.Context(), t, other); err != nil {
		t.Fatal(err)
	}
	if err := other.Index(t.Context(), w.Agent.Heads(), w.Agent.Listing(time.Now())); err != nil {
		t.Fatal(err)
	}
	if err := s.Index(t.Context(), before.Heads(), before.Listing(time.Now())); err != nil {
		t.Fatal(err)
	}
	if l, err := other.listing(t.Context(), w.Agent.ID()); err != nil || l.Entries != 2 || l.Behind {
		t.Errorf("it is listed as %+v, %v, want 2 entries", l, err)
	}
}
