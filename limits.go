package perdure

import (
	"time"

	"github.com/perdure/perdure/internal/canon"
)

// Limits bound what decoding may cost. Zero fields mean the documented defaults.
type Limits = canon.Limits

// The bounds of the format and of the fold. Those marked frozen are part of the format: every implementation must agree on them.
const (
	// MaxParents bounds the heads one entry can join (frozen). 64 concurrent branches is far more than nodes that talk at all produce;
	// a memory with more heads is joined by several entries.
	MaxParents = 64
	// MaxHeader bounds the canonical bytes of a header (frozen): 64 parents of 34 bytes and every other field fit well below it.
	MaxHeader = 4 << 10
	// MaxBody bounds the canonical bytes of one body. Larger things belong in several entries or outside, by hash.
	MaxBody = 64 << 20
	// InlineBody is the largest body a store keeps in its main file; above it bodies are blobs.
	InlineBody = 64 << 10
	// maxInbox bounds the events a fold keeps waiting to be seen (frozen). The oldest leave the inbox, never the memory.
	maxInbox = 1024
	// maxInboxBytes bounds the data of those events (frozen), so that nobody can make a fold too large to be written down. The newest stays.
	maxInboxBytes = 8 << 20
	// maxDedupe bounds the remembered dedupe ids (frozen): a sender that repeats itself does so soon.
	maxDedupe = 1024
	// maxSignals bounds the remembered signals of one tool (frozen): Backoff looks no further back.
	maxSignals = 16
	// maxTools bounds the tools a fold keeps signals of (frozen); the one not used for longest is forgotten.
	maxTools = 256
	// maxConflicts bounds the conflicts a fold keeps for Diverged (frozen); the oldest are forgotten.
	maxConflicts = 64
	// maxEndedChildren bounds the ended children a fold keeps (frozen); the oldest leave the fold, never the memory.
	maxEndedChildren = 1024
	// maxIncapable bounds the recorded incapabilities (frozen).
	maxIncapable = 256
	// maxAdvice bounds the advice whose undecided proposals are kept (frozen): one is current, the others came from other branches.
	maxAdvice = 4
	// maxAuthors bounds the authors of one memory that are told apart. A memory of more does not count anywhere: no agent has that many nodes
	// and people, and each entry is held against all of them.
	maxAuthors = 256
	// maxEnclosed bounds the texts a fold knows to be in memory (frozen); one it forgets is recorded again.
	maxEnclosed = 64
	// maxDenials is how many refusals in a row make an agent wait for a person: whoever advises it goes round in circles, and that costs.
	maxDenials = 12
	// maxAttempts is how often one effect is tried before the advisor is asked for another way (frozen, as the fold forgets it then).
	maxAttempts = 5
	// tailWindow is how many recent entries an Agent holds so that a late entry can be folded where it belongs. Later than that, the
	// memory is folded again from the store. It changes cost only, never the result.
	tailWindow = 64
	// tailBytes is how many bytes of their bodies end the window sooner, so that an agent of large bodies is not held in memory by the dozen.
	tailBytes = 4 << 20
	// loadBytes is how many bytes of bodies are folded at a time when an agent is loaded: far more than the usual entries since a snapshot.
	loadBytes = 8 << 20
	// defaultDeadline is how long an effect may take when neither its tool nor the proposal says.
	defaultDeadline = 5 * time.Minute
	// conditionEvery is how often a condition that reads the clock is looked at again.
	conditionEvery = time.Minute
)
