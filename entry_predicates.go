package perdure

import (
	"slices"

	"github.com/perdure/perdure/internal/canon"
)

// The predicates of entries and memories. Their names are stable.
var (
	predVersion = canon.Predicate{Name: "entry.version", Phase: canon.PhaseInvariant,
		Meaning: "the format version is one this reader knows"}
	predAgent = canon.Predicate{Name: "entry.agent", Phase: canon.PhaseLineage,
		Meaning: "the entry names the agent whose memory it is in"}
	predGenesisFirst = canon.Predicate{Name: "entry.genesis", Phase: canon.PhaseLineage,
		Meaning: "a memory begins with one genesis entry, which has no parents, seq 0 and no agent id"}
	predLinked = canon.Predicate{Name: "entry.linked", Phase: canon.PhaseLineage,
		Meaning: "every parent is in the memory, and every entry but genesis has one"}
	predParents = canon.Predicate{Name: "entry.parents", Phase: canon.PhaseInvariant,
		Meaning: "parents are ascending, distinct and at most 64"}
	predSeq = canon.Predicate{Name: "entry.seq", Phase: canon.PhaseLineage,
		Meaning: "seq is one more than the highest seq of the parents"}
	predTime = canon.Predicate{Name: "entry.time", Phase: canon.PhaseInvariant,
		Meaning: "times are not before 1970"}
	predHeaderSize = canon.Predicate{Name: "entry.header-size", Phase: canon.PhaseInvariant,
		Meaning: "the header has at most 4096 bytes"}
	predSignature = canon.Predicate{Name: "entry.signed", Phase: canon.PhaseSignature,
		Meaning: "a signature is by the entry's origin over its name, as README.md §2 says"}
	predSealed = canon.Predicate{Name: "entry.sealed", Phase: canon.PhaseSignature,
		Meaning: "every entry is covered by a signature of its own origin, on it or on the linked run after it"}
	predBodyHash = canon.Predicate{Name: "body.hash", Phase: canon.PhaseInvariant,
		Meaning: "the body's SHA-256 is the one the header commits to"}
	predBodySize = canon.Predicate{Name: "body.size", Phase: canon.PhaseInvariant,
		Meaning: "the body's size is the one the header commits to, within the limit"}
	predBodyKind = canon.Predicate{Name: "body.kind", Phase: canon.PhaseInvariant,
		Meaning: "the body is of the kind the header says"}
	predBodyPresent = canon.Predicate{Name: "body.present", Phase: canon.PhaseLineage,
		Meaning: "a body is there, unless a later snapshot that has seen the entry stands for it"}
	predScope = canon.Predicate{Name: "charter.scope", Phase: canon.PhaseInvariant,
		Meaning: "a scope is words joined by slashes"}
	predOwner = canon.Predicate{Name: "charter.owner", Phase: canon.PhaseInvariant,
		Meaning: "the owner of a new agent is its author, unless it descends from another agent"}
	predAmount = canon.Predicate{Name: "spend.amount", Phase: canon.PhaseInvariant,
		Meaning: "amounts and durations are not negative"}
	predTrigger = canon.Predicate{Name: "trigger.sound", Phase: canon.PhaseInvariant,
		Meaning: "a trigger has its parts: a time, a positive interval, one thing to be done, at least one trigger " +
			"in any and all"}
	predTriggerSize = canon.Predicate{Name: "trigger.bounded", Phase: canon.PhaseInvariant,
		Meaning: "a trigger has at most 64 parts, 8 deep, and conditions of at most 16384 bytes together"}
	predLists = canon.Predicate{Name: "body.lists", Phase: canon.PhaseInvariant,
		Meaning: "no list in a body is longer than its limit"}
	predFoldSize = canon.Predicate{Name: "snapshot.bounded", Phase: canon.PhaseInvariant,
		Meaning: "no list in a snapshot's fold is longer than a fold's can be"}
	predChild = canon.Predicate{Name: "decision.child", Phase: canon.PhaseInvariant,
		Meaning: "an allowed delegation carries the genesis of its child, and nothing else does"}
	predProposal = canon.Predicate{Name: "decision.proposal", Phase: canon.PhaseInvariant,
		Meaning: "a decision is about a proposal or states its action"}
	predDocument = canon.Predicate{Name: "document.path", Phase: canon.PhaseInvariant,
		Meaning: "a document stands at a path: words joined by slashes, at most 512 bytes, without control " +
			"characters and backslashes"}
	predKeySound = canon.Predicate{Name: "key.sound", Phase: canon.PhaseInvariant,
		Meaning: "a public key is the canonical encoding of a point that is not of small order"}
	predRevoked = canon.Predicate{Name: "key.revoked", Phase: canon.PhaseSignature,
		Meaning: "the author's key was not revoked in the entry's own past"}
	predTrusted = canon.Predicate{Name: "key.trusted", Phase: canon.PhaseSignature,
		Meaning: "the author is trusted to write this kind of entry in this scope"}
	predOnce = canon.Predicate{Name: "memory.once", Phase: canon.PhaseLineage,
		Meaning: "an entry is in a stream of entries once"}
	predHeads = canon.Predicate{Name: "memory.heads", Phase: canon.PhaseLineage,
		Meaning: "a memory has the heads it is said to have"}
	predSnapshot = canon.Predicate{Name: "snapshot.fold", Phase: canon.PhaseLineage,
		Meaning: "a snapshot is the fold of everything in its past"}
)

// Predicates lists every rule by which bytes can be refused, with its meaning.
func Predicates() []canon.Predicate {
	return slices.Concat(canon.Predicates, []canon.Predicate{
		predVersion, predAgent, predGenesisFirst, predLinked, predParents, predSeq, predTime, predHeaderSize,
		predSignature, predSealed,
		predBodyHash, predBodySize, predBodyKind, predBodyPresent, predScope, predOwner, predAmount, predTrigger,
		predTriggerSize, predLists,
		predFoldSize, predChild, predProposal, predDocument, predKeySound, predRevoked, predTrusted, predOnce,
		predHeads, predSnapshot,
	})
}
