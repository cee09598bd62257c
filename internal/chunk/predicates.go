package chunk

import "github.com/perdure/perdure/internal/canon"

// The names of the predicates of chunks. They are stable: programs may compare with them.
const (
	PredSize  = "chunk.size"
	PredRatio = "chunk.ratio"
	PredName  = "chunk.name"
	PredZstd  = "chunk.zstd"
)

// Predicates lists every predicate of this package with its meaning.
var Predicates = []canon.Predicate{
	rule(PredSize, "a chunk unpacks to the size announced, within the limit", again),
	rule(PredRatio, "a chunk expands no more than the limit", "pack the chunk in smaller pieces"),
	rule(PredName, "a chunk is named by the SHA-256 of its unpacked bytes", again),
	rule(PredZstd, "a chunk is exactly one zstd frame", again),
}

const again = "fetch the chunk again from another source"

func rule(name, meaning, hint string) canon.Predicate {
	return canon.Predicate{Name: name, Phase: canon.PhaseStructure, Meaning: meaning, Hint: hint}
}

func reject(pred string, offset int64, got, want string) *canon.Rejection {
	return canon.Reject(Predicates, pred, offset, got, want)
}
