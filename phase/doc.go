// Package phase has the words for where an agent is: its state in its life, what a node does next with it, and why it
// rests. They are the same in Go, in JSON, on the wire and in every store.
package phase
