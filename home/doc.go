// Package home is where things are: a store, and beside it the key that signs, whom to trust, the vault, schemas,
// policies and node.yaml. It makes a node of them, finds agents by what people call them, and takes agents in. Whatever
// decides here and was written by somebody else counts for nothing until this user has accepted it.
package home
