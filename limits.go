package perdure

import (
	"time"

	"github.com/perdure/perdure/internal/canon"
)

// Limits bound what decoding may cost. Zero fields mean the documented defaults.
type Limits = canon.Limits

// The bounds of the format and of the fold. Those marked frozen are part of the format: every implementation must agree
// on them.
const (
	// FormatVersion is the version of the format this package writes and reads.
	FormatVersion = 1
	// MaxLease is the longest lease of a claim; a longer one counts as one that long. A claim that seems to hold for
	// longer was taken while the clock was ahead: it is not believed.
	MaxLease = time.Hour
	// MaxParents bounds the heads one entry can join (frozen). 64 concurrent branches is far more than nodes that talk
	// at all produce; a memory with more heads is joined by several entries.
	MaxParents = 64
	// MaxHeader bounds the canonical bytes of a header (frozen): 64 parents of 34 bytes and every other field fit well
	// below it.
	MaxHeader = 4 << 10
	// MaxBody bounds the canonical bytes of one body. Larger things belong in several entries or outside, by hash.
	MaxBody = 64 << 20
	// InlineBody is the largest body a store keeps in its main file; above it bodies are blobs.
	InlineBody = 64 << 10
	// maxInbox bounds the events a fold keeps waiting to be seen (frozen). The oldest leave the inbox, never the
	// memory.
	maxInbox = 1024
	// maxInboxBytes bounds the data of those events (frozen), so that nobody can make a fold too large to be written
	// down. The newest stays.
	maxInboxBytes = 8 << 20
	// What of the inbox there is for whom, in events and bytes: what the agent waits for may fill it if it comes in the
	// name of the node's key, and anything else in that name nearly. Others leave more free, a little less with what
	// the agent waits for: else whoever may send events could keep the owner from being heard.
	ownInbox, ownInboxBytes         = maxInbox - 8, maxInboxBytes - 1<<20
	awaitedInbox, awaitedInboxBytes = maxInbox - 16, maxInboxBytes - 3<<19
	othersInbox, othersInboxBytes   = maxInbox - 128, maxInboxBytes - 2<<20

	// maxFallen and maxFallenBytes bound what a node remembers of events that left the inbox unseen, as after a merge:
	// what sixteen copies may come to. fallenHold is after how many entries a snapshot is written although it has none
	// of them.
	maxFallen      = 16 * maxInbox
	maxFallenBytes = 64 << 20
	fallenHold     = 1 << 16
	// driftHold is the same where all that a snapshot would forget is what copies were told: an agent that never waits
	// for it again is not to be read from so far back for ever. maxSights bounds the advice of copies of which it is
	// not known yet whether it counts.
	driftHold = 1 << 12
	maxSights = 64
	// maxTwins bounds what a node remembers of events that repeat others: of more, a message that was seen in another
	// copy is shown again.
	maxTwins = maxInbox
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
	// maxAdvice bounds the advice whose undecided proposals are kept (frozen): one is current, the others came from
	// other branches.
	maxAdvice = 4
	// maxAuthors bounds the authors of one memory that are told apart. A memory of more does not count anywhere: no
	// agent has that many nodes and people, and each entry is held against all of them.
	maxAuthors = 256
	// maxTaken bounds the snapshots of different branches, with bodies missing before them, that one is held against.
	maxTaken = 16
	// maxSeats bounds the claims on the seat that stand beside each other (frozen): two are a dispute already.
	maxSeats = 16
	// maxActs bounds the bound effects that are compared with those of other branches, one by one: what lies further
	// back is for a person to compare. It changes what is asked, never the fold. maxDoubled bounds those found doubled
	// (frozen).
	maxActs    = 256
	maxDoubled = 64
	// maxEnclosed bounds the texts a fold knows to be in memory (frozen); one it forgets is recorded again.
	maxEnclosed = 64
	// maxOpen bounds the effects under way (frozen). An agent has tens; one allowed beyond it does not count and is not
	// performed.
	maxOpen = 1024
	// maxAsks bounds the open questions (frozen): more than anybody answers. One beyond it is refused.
	maxAsks = 256
	// maxVotes bounds the answers to one question (frozen). An approval beyond it does not count; a refusal does.
	maxVotes = 64
	// maxOwed bounds the effects to be tried again (frozen). One beyond it is not tried again: the advisor is asked for
	// another way.
	maxOwed = 1024
	// maxActionBytes bounds what the actions of open, asks and owed weigh (frozen), so that nobody can make a fold too
	// large to be written down. What goes beyond it is as beyond maxOpen, maxAsks and maxOwed. It bounds the proposals
	// kept, too: the oldest go, the newest stay.
	maxActionBytes = 16 << 20
	// maxChildren bounds the living children (frozen); a delegation beyond it does not count.
	maxChildren = 4096
	// maxResultBytes bounds the results of ended children that a fold keeps (frozen); the oldest leave the fold, never
	// the memory.
	maxResultBytes = 8 << 20
	// maxPaused bounds the pauses a fold names (frozen). One beyond it is joined with the last: whoever resumes must
	// have seen both.
	maxPaused = 64
	// maxKeys bounds the keys revoked, and those the agent was handed on to (frozen). What goes beyond it cannot be
	// followed, so the agent stays still: it is contested.
	maxKeys = 128
	// maxVars bounds the names in the agent's state, and maxVarBytes names and values together (frozen). What goes
	// beyond them is not set.
	maxVars     = 1024
	maxVarBytes = 4 << 20
	// maxDedupeID is the longest id of an event that is remembered as it is (frozen); of a longer one it is the hash.
	maxDedupeID = 256
	// maxEventName is how long the name of an event may be that a node tells: people type it and read it in a line.
	// What memories have is not bounded by it.
	maxEventName = 1024
	// maxListed bounds each text of a listing. It changes how agents are found by what they are called, never an agent.
	maxListed = 512
	// maxPollBytes bounds the results of polls that a sleep keeps (frozen). One beyond it is not kept, so no condition
	// on it is met.
	maxPollBytes = 8 << 20

	// The lists an entry may carry (frozen, predicate body.lists). Each is more than an honest writer has use for.
	maxActions   = 1024 // in one advice
	maxSeen      = maxInbox
	maxApprovals = maxVotes
	maxRules     = 64  // that decided
	maxAsked     = 64  // people a question goes to at a time
	maxEscalate  = 16  // stages
	maxRecheck   = 64  // calls of a stale wake
	maxLabels    = 64  // of an intent
	maxToolNames = 512 // in an intent
	maxPolicies  = 64  // of a charter
	maxApprovers = 64
	maxSet       = maxVars
	maxGather    = maxChildren
	maxLinks     = 256 // of a document
	maxTags      = 64
	maxBase      = 64  // versions a document replaces
	maxPath      = 512 // bytes

	// The size of a trigger (frozen, predicate trigger.bounded). All its conditions are looked at each time the agent
	// is.
	maxTriggers       = 64
	maxTriggerDepth   = 8
	maxConditionBytes = 16 << 10
	// maxExplained bounds the conditions whose open part is worked out for people.
	maxExplained = 8

	// maxDenials is how many refusals in a row make an agent wait for a person: whoever advises it goes round in
	// circles, and that costs.
	maxDenials = 12
	// maxUnpaid is how many refusals in a row make an agent without tool calls left wait for a person.
	maxUnpaid = 3
	// maxAttempts is how often one effect is tried before the advisor is asked for another way (frozen, as the fold
	// forgets it then).
	maxAttempts = 5
	// tailWindow is how many recent entries an Agent holds so that a late entry can be folded where it belongs. Later
	// than that, the memory is folded again from the store. It changes cost only, never the result.
	tailWindow = 64
	// tailBytes is how many bytes of their bodies end the window sooner, so that an agent of large bodies is not held
	// in memory by the dozen.
	tailBytes = 4 << 20
	// maxCovered is how many authors are remembered as having signed after an entry, when an agent is loaded. It
	// changes cost only.
	maxCovered = 16
	// maxProofs is how many signatures known to verify are remembered at least, and half of how many at most: those of
	// a memory of 10 MB, in 4 MB. It changes cost only.
	maxProofs = 1 << 15
	// loadBytes is how many bytes of bodies are folded at a time when an agent is loaded: far more than the usual
	// entries since a snapshot.
	loadBytes = 8 << 20
	// firstBytes is how many are folded first when all of a memory is: those of some hundred usual entries.
	firstBytes = 64 << 10
	// defaultDeadline is how long an effect may take when neither its tool nor the proposal says.
	defaultDeadline = 5 * time.Minute
	// conditionEvery is how often a condition that reads the clock is looked at again.
	conditionEvery = time.Minute
)
