package view

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/relist"
)

// LookAt folds an agent to look at: from what can be derived here or somebody trusted vouches for, else on the word of
// its snapshots.
func LookAt(ctx context.Context, s perdure.Store, t *perdure.Trust, id perdure.AgentID) (*perdure.Agent, error) {
	a, err := t.Load(ctx, s, id)
	if errors.Is(err, perdure.ErrRejected) {
		return perdure.Load(ctx, s, id)
	}
	return a, err
}

// Lister is the store as one that can say which agents it holds, of none of which it says what its memory contradicts.
func Lister(s perdure.Store) (perdure.Lister, error) {
	l, ok := s.(perdure.Lister)
	if !ok {
		return nil, errors.New("this store cannot list agents; name one by its whole id")
	}
	return relist.Of(s, l), nil
}
