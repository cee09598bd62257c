package remote

import "time"

const (
	// DefaultTimeout is how long a remote advisor may think: models take minutes.
	DefaultTimeout = 5 * time.Minute
	// DefaultRecent is how many outcomes a remote advisor is shown.
	DefaultRecent = 32
	// DefaultShown bounds what a remote advisor is shown of one result, in bytes of JSON.
	DefaultShown = 64 << 10
	// DefaultResponse bounds the advice of a remote advisor, in bytes.
	DefaultResponse = 4 << 20
	// maxNote bounds what an error repeats of a remote advisor's text.
	maxNote = 512
)
