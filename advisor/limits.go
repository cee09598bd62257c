package advisor

import "time"

const (
	// MaxScript bounds the text of a script.
	MaxScript = 1 << 20
	// maxDepth bounds how deep the values of a script or an advice nest.
	maxDepth = 64
	// maxActions bounds the actions of one turn or advice: more than people or models propose at once.
	maxActions = 256
	// maxRepeat bounds the rounds of one turn of a script.
	maxRepeat = 1_000_000
	// DefaultTimeout is how long a remote advisor may think: models take minutes.
	DefaultTimeout = 5 * time.Minute
	// DefaultRecent is how many outcomes a remote advisor is shown.
	DefaultRecent = 32
	// DefaultShown bounds what a remote advisor is shown of one result, in bytes of JSON.
	DefaultShown = 64 << 10
	// DefaultResponse bounds the advice of a remote advisor, in bytes.
	DefaultResponse = 4 << 20
	// maxRetryAfter bounds the wait a remote advisor can ask for.
	maxRetryAfter = 24 * time.Hour
	// maxSaid bounds how much of what people said a script or a remote advisor is shown at once.
	maxSaid = 64
	// maxNote bounds what an error repeats of a remote advisor's text.
	maxNote = 512
)
