package perdure_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// TestALostServerIsSilent: nobody was late, nobody answered; and what ran out of time is timed-out.
func TestALostServerIsSilent(t *testing.T) {
	t.Parallel()
	for want, err := range map[perdure.Signal]error{
		perdure.Silent:   fmt.Errorf("the server was lost: %w", perdure.ErrInDoubt),
		perdure.TimedOut: fmt.Errorf("no answer within 1s: %w: %w", context.DeadlineExceeded, perdure.ErrInDoubt),
	} {
		lost := &tool{spec: perdure.Spec{Name: "put", Effect: perdure.Idempotent},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				return perdure.Result{}, err
			}}
		n := newNode(t, new(perdure.MemStore), scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Execute{Tool: "put"}}
		}), lost)
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		if owed := load(t, n.Store, id).Owed; len(owed) != 1 || owed[0].Signal != want {
			t.Errorf("got %+v, want it to be tried again after %s", owed, want)
		}
	}
}
