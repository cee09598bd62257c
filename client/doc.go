// Package client talks to a Perdure server: the same verbs as the command line, from Go.
//
// A person's answers count per key. A Client with a token of a person has the server sign with the key that the token
// unlocks; one with a Signer signs here, and the server only stores what it is given.
package client
