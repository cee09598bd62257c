package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure"
)

// patience is how long a writer waits while another process keeps the file from being written, and whom it tells.
type patience struct {
	path  string
	limit time.Duration     // zero: none
	tell  func(text string) // nil: nobody
}

// tellAfter is how long a writer waits before it says so: no write takes that long.
const tellAfter = 5 * time.Second

// heldError says that another process kept the file from being written until patience ended. Nothing was written.
type heldError struct{ error }

func (e heldError) Unwrap() error { return e.error }

// wait calls f again while another process holds the lock of the file. Left says that nobody waits for it any more.
func (p patience) wait(left func() bool, f func() error) error {
	told := p.tell == nil
	for begun, pause := time.Now(), 50*time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		err := f()
		if !busy(err) {
			return err
		}
		waited := time.Since(begun)
		switch {
		case left != nil && left():
			return heldError{context.Canceled}
		case p.limit > 0 && waited >= p.limit:
			err = fmt.Errorf("another process has kept %s from being written for %s: nothing was written: %w", p.path,
				waited.Round(time.Second), err)
			return heldError{perdure.WithHint(err,
				"find out which perdure uses this store, let it go on if it was stopped (fg, or kill -CONT), or end "+
					"it; then try again")}
		case !told && waited >= p.silence():
			told = true
			p.tell(fmt.Sprintf("another process holds the store %s: waiting until it can be written", p.path))
		}
		time.Sleep(pause/2 + rand.N(pause))
	}
}

// silence is how long a writer waits before it says so.
func (p patience) silence() time.Duration {
	if p.limit > 0 {
		return min(tellAfter, p.limit/2)
	}
	return tellAfter
}
