// Package keeper names the kinds of agents that are there for documents alone: asleep from their first commit, and
// nothing wakes them; and the labels that decide something.
package keeper

import (
	"maps"
	"strings"
)

const (
	// Workspace is the kind of an agent that keeps the documents of a scope.
	Workspace = "workspace"
	// Role is the kind of an agent that stands for a role and keeps its private notes.
	Role = "role"
	// Never is the event that such agents wait for, which nobody sends.
	Never = "never"
)

// Is reports whether agents of a kind are there for documents alone. Only Node.CreateAsleep makes such agents: one that
// became of this kind later could pass for a role, or for a place of documents.
func Is(kind string) bool { return kind == Role || kind == Workspace }

// Label reports whether a label says whose an agent is, or that it exists once. Only Node.CreateOnce, by which doors
// begin agents, gives an agent such labels: with those of somebody else it would be theirs.
func Label(name string) bool { return name == "once" || strings.HasPrefix(name, "a2a-") }

// Labels are those of an agent that decide something.
func Labels(all map[string]string) map[string]string {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(name, _ string) bool { return !Label(name) })
	return some
}
