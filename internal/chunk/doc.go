// Package chunk cuts large values by their content and packs the pieces with zstd. Capsules are made of chunks; nothing
// below them is.
package chunk
