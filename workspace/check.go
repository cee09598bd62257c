package workspace

import (
	"context"

	"github.com/perdure/perdure"
)

// Holder finds out whether a check still holds. Checks are texts that authors wrote: what it runs must be what this
// node's policy permits, and is asked only of those this home trusts to own.
type Holder interface {
	// Hold reports why the check does not hold; empty: it does. An error says that nobody can tell.
	Hold(ctx context.Context, reader *perdure.Agent, check string) (why string, err error)
}

// Living tells which sessions have a process.
type Living interface {
	// Hold makes a name known while this process lives.
	Hold(name []byte) error
	// Dead reports whether the process of a name is known to have ended.
	Dead(name []byte) bool
}

// Embedder turns texts into vectors, such that those of texts with like meanings are near each other.
type Embedder interface {
	// Name is the model; vectors of different models do not compare.
	Name() string
	// Embed is one vector for each text.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
