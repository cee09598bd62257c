package workspace

import (
	"context"

	"github.com/perdure/perdure"
)

// Holder finds out whether a check still holds. Checks are texts that authors wrote, models among them: one of them
// tells its reader nothing that the reader may not find out itself, and runs nothing that the owner did not write.
type Holder interface {
	// Hold reports why the check does not hold; empty: it does. An error says that nobody can tell. A nil reader is the
	// owner.
	Hold(ctx context.Context, reader *perdure.Agent, check string) (why string, err error)
	// Fit refuses a check that nobody could look at, before it is written.
	Fit(check string) error
	// Accept hears of each check that the owner writes in person. One that is only kept, with a document that the owner
	// edits, promotes or renames, is none.
	Accept(check string)
}

// Living tells which sessions have a process.
type Living interface {
	// Hold makes a name known while this process lives.
	Hold(name []byte) error
	// Lives reports whether the process of a name lives; known is whether that can be told.
	Lives(name []byte) (lives, known bool)
}

// Embedder turns texts into vectors, such that those of texts with like meanings are near each other.
type Embedder interface {
	// Name is the model; vectors of different models do not compare.
	Name() string
	// Embed is one vector for each text.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
