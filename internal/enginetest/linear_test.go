package enginetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure"
)

// TestAHistoryWithoutOrderIsFound proves that the check can fail: two appends on one head that were both acknowledged.
func TestAHistoryWithoutOrderIsFound(t *testing.T) {
	h := &history{calls: new(atomic.Int64)}
	a, b, c := perdure.HashOf([]byte("a")), perdure.HashOf([]byte("b")), perdure.HashOf([]byte("c"))
	now := time.Now()
	h.note(0, call{name: a}, now, answer{added: true})
	h.note(1, call{on: a, name: b}, now, answer{added: true})
	h.note(2, call{on: a, name: c}, now, answer{added: true})
	if porcupine.CheckOperations(register.ToModel(), h.ops) {
		t.Fatal("two appends on one head have an order")
	}
}
