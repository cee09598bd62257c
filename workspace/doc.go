// Package workspace is memory across sessions: documents, what is derived from them, and search.
//
// A document is a text at a path. Each version is an entry in the memory of an agent, signed and linked like every
// other, and names the versions it replaces, so that nothing written is ever lost: two versions that replace the same
// one stand beside each other until a third replaces both. Private notes live in the memory of the role that writes
// them, under agents/ROLE; shared documents in agents of kind workspace, one for each scope and tier, which sleep for
// life. Who may read what follows from that, and from policy, which is asked each time.
//
// What is current, what links where and what can be found is derived from the store and kept in an Index, which may be
// thrown away.
package workspace
