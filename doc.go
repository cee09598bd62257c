// Package perdure runs AI agents whose execution state lives inside the agent itself.
//
// An agent is three things and nothing else: an intent (what it is for), a charter (who it is and within what bounds),
// and a memory (every thing that ever happened to it, as an append-only, hash-linked, signed set of entries).
// Everything else is a Fold of memory, derived anew on any machine, byte for byte the same.
//
// # Entries
//
// An Entry is a signed header and a body. The header commits to the body by hash, so a body can be dropped while every
// link and signature still verifies. There are six kinds: Genesis, Advice, Decision, Outcome, Event and Snapshot. A
// Signer writes them in commits, linked runs with one signature. DecodeEntry reads them back and refuses every byte
// string that is not exactly what a Signer would have written: the refusal is a *Rejection that names the predicate.
//
// Memory is a DAG. Several heads are normal: an event that arrived during a tool call, two nodes that were cut off from
// each other. The next entry names all heads. Agent.Apply folds entries in any order of arrival to the same Fold; on
// conflict the most restrictive reading wins.
//
// # One cycle
//
// Plan says what a node should do next for an agent. It is a pure function of the fold, the node's capabilities and the
// time. Three powers never mix: an advisor proposes, policy decides, a tool acts once the decision is durable.
//
// # Files
//
// The package has four rooms, and a file says by its first word in which it is. The format: entry and key, what is
// written and who signed it. The fold: memory and fold, how entries become an agent. The plan: plan, what to do next
// and why nothing. The runtime: node, which does it. Beside them are store and trust: what keeps memories, and whose
// entries count. All but node is pure.
package perdure
