// Package action reads actions as people and programs write them, in scripts and in the advice of remote advisors, and
// says what is wrong where.
package action

const (
	// maxDepth bounds how deep the values of a script or an advice nest.
	maxDepth = 64
	// MaxActions bounds the actions of one turn or advice: more than people or models propose at once.
	MaxActions = 256
	// MaxReads bounds the reads to make again, as the format does.
	MaxReads = 64
)

// Opening begins a value in a text; doubled, as in $${, it stands for itself.
const Opening = "${"
