// Package server serves the agents of a home over HTTP: an API with an OpenAPI description, live streams, posts of
// hooks, and, where they are given, MCP, A2A and metrics on the same port.
//
// It is a face: what counts is decided below it, in home and view. It adds who asks (tokens, pinned keys, a Unix
// socket), limits, and problems (RFC 9457) in the place of errors.
package server
