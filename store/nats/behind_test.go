package nats

import (
	"testing"
	"time"
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
