package perdure

import (
	"fmt"
	"testing"
	"time"
)

// TestManyFiltersFindTheLastEvent: of a trigger with many filters over a full inbox each look judges some events, and
// none twice.
func TestManyFiltersFindTheLastEvent(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 8, 16, 60} {
		f := &Fold{judged: new(judged)}
		var of []Trigger
		for i := range n {
			of = append(of, On{Event: "news", Filter: fmt.Sprintf("event.data == %d", i+1)})
		}
		f.Sleep = &Sleeping{Sleep: Sleep{Trigger: Any{Of: of}}}
		for i := range maxInbox {
			f.Inbox = append(f.Inbox, Message{Event: HashOf([]byte(fmt.Sprint(i))), Name: "news",
				Data: must(DataOf(int64(0)))})
		}
		f.Inbox[maxInbox-1].Data = must(DataOf(int64(n))) // fits the last filter
		looks := 0
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for ; looks < 60; looks++ {
			if f.met(now, false).Met {
				break
			}
			now = now.Add(time.Second)
		}
		if looks == 60 {
			t.Errorf("%d filters: the event that fits is not found", n)
		}
	}
}
