package show_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
)

// Who writes one message and no more wants the answer, and does not wait long for a model that has no time.
func TestTheEndOfTheInputLeavesAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		show.NewProgram(nil, strings.NewReader(`{"say":"hello"}`), io.Discard, signals, nil).Begin()
		begun := time.Now()
		if sig, leaves := (<-signals).(home.Leaving); !leaves || sig.Elsewhere() {
			t.Errorf("got %v", sig)
		}
		if waited := time.Since(begun); waited != 10*time.Second {
			t.Errorf("it leaves after %v", waited)
		}
	})
}
