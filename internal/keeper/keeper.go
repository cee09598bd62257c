// Package keeper names the kinds of agents that are there for documents alone: asleep from their first commit, and
// nothing wakes them.
package keeper

const (
	// Workspace is the kind of an agent that keeps the documents of a scope.
	Workspace = "workspace"
	// Role is the kind of an agent that stands for a role and keeps its private notes.
	Role = "role"
)

// Is reports whether agents of a kind are there for documents alone. Only Node.CreateAsleep makes such agents: one that
// became of this kind later could pass for a role, or for a place of documents.
func Is(kind string) bool { return kind == Role || kind == Workspace }
