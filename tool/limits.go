package tool

import "time"

const (
	// DefaultTimeout is how long a command or a request may take when its tool does not say: long enough for a build or
	// a slow service.
	DefaultTimeout = 2 * time.Minute
	// DefaultOutput bounds each of the two outputs of a command: what a model can read, and small beside what an entry
	// holds.
	DefaultOutput = 64 << 10
	// DefaultResponse bounds the body of a response that is kept.
	DefaultResponse = 1 << 20
	// MaxFile bounds the content of one call to a file tool, so that an entry holds it with room to spare.
	MaxFile = 8 << 20
	// maxPath and maxPathDepth bound a path: what is longer was not written for people, and each folder on the way
	// costs a call.
	maxPath      = 1024
	maxPathDepth = 64
	// maxExcluded bounds the files that are compared when a file with several names might be one a tool keeps out of.
	maxExcluded = 100_000
	// maxURL bounds a URL: servers refuse longer ones.
	maxURL = 8 << 10
	// maxList bounds the names one call lists.
	maxList = 10_000
	// maxRequest bounds the body of a request.
	maxRequest = 8 << 20
	// maxResponseHeader bounds the header of a response.
	maxResponseHeader = 64 << 10
	// maxRetryAfter bounds the wait a server can ask for: one that says a year is wrong, and a person should hear of it
	// sooner.
	maxRetryAfter = 24 * time.Hour
	// maxNote bounds what a note repeats of somebody's text.
	maxNote = 2 << 10
	// minSecret is the shortest value a secret may have: shorter ones cannot be taken out of a result without spoiling
	// it. Values are looked for by their first four bytes: not less than that.
	minSecret = 4
	// minGuarded is the shortest value that is kept out of memory altogether: shorter ones stand in texts by chance.
	minGuarded = 6
	// waitOutput is how long the output of a command that has ended is waited for, when something it started still
	// holds it open.
	waitOutput = time.Second
)
