package capsule

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// Version is the version of the capsule format this package writes and reads.
const Version = 1

// Magic is the first field of the head of every capsule.
const Magic = "perdure capsule"

// The bounds of the format. Those marked frozen decide which bytes Export writes: changing one changes the bytes of
// every later export.
const (
	// bufferSize is how much is read at once, and so how far a reader may be past a bad byte before it refuses.
	bufferSize = 64 << 10
	// inlineBody is the largest body that is not cut into chunks (frozen): below it a body is a frame of its own.
	inlineBody = perdure.InlineBody
	// chunkWindow is how many bytes of chunks a reader keeps (frozen): a chunk that came by within it is not written
	// again.
	chunkWindow = 8 << 20
	// indexEvery is how many entries lie between two that the index names (frozen).
	indexEvery = 1024
	// maxRecord bounds the records of files beside a capsule: a signature and an attestation fit many times.
	maxRecord = 1 << 20
	// maxFrame bounds every other frame: the largest chunk packed as badly as possible, or an inline body, or an
	// embedded schema, or a head with 64 heads, or a manifest of 2^64 capsules.
	maxFrame = 1 << 20
	// indexRoom is how much longer than other frames an index may be for each entry before it: it names each head, in
	// 34 bytes of the binary form and 46 of the text.
	indexRoom = 64
	// maxLine bounds a line of the text form and a frame of the described form, which hold an entry with its body: a
	// number of one byte may have a name of twenty characters.
	maxLine = 32 * inlineBody
	// DefaultMaxBytes bounds the bytes of one capsule when ReadOptions say nothing: more than an agent writes in years,
	// less than a disk.
	DefaultMaxBytes = 64 << 30
	// DefaultUnpacked and DefaultRatio bound what one capsule, or all capsules of a set together, unpack to when
	// ReadOptions say nothing: so many bytes, and so many times the bytes read. Twice the largest body passes however
	// well it packs; what people and programs write packs to a fifth, and a document kept in thirty versions still
	// passes. A file made to fill a disk does not.
	DefaultUnpacked, DefaultRatio = 128 << 20, 32
	// batchEntries and batchBytes bound what is handed on at once.
	batchEntries, batchBytes = 512, 4 << 20
)

// indexLimits are those of an index after so many entries, in any form.
func indexLimits(entries int64) canon.Limits {
	return canon.Limits{Bytes: maxLine + indexRoom*entries, Items: canon.DefaultItems + 2*entries}
}
