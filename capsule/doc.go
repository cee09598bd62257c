// Package capsule keeps one agent in one file.
//
// A capsule is a sequence of frames: a head, the entries of the agent's memory with their bodies, and an index. It has
// three forms of one content: binary (CBOR frames of known length), described (CBOR any tool can show) and text (JSON
// Lines for people and git). Export writes the same bytes for the same entries, whichever store they come from and in
// whatever order they arrived there; a Reader accepts what Export writes, and chunks that were packed otherwise, and
// refuses everything else with a *perdure.Rejection that names the predicate and the offset.
//
// # Frames
//
//	H  head: magic, version, agent, depth, signature binding, Unicode version, limits, anchor
//	S  the schema of entries, where it is embedded
//	E  an entry: its header, and its signature if it has one
//	P  the body of the entry before it: the bytes, or the names of its chunks, or nothing when it was dropped
//	K  a chunk of the body before it, packed, named by the hash of its unpacked bytes
//	M  a manifest: one signature over the heads of many capsules
//	Z  the index: counts, heads, the hash of all bytes before it, and where to find every 1024th entry
//
// In order: H, S if there is one, then for each entry E, P and the chunks P names that have not come by lately, then M
// if there is one, then Z. A frame of the binary form is the CBOR list of its letter and a byte string with its record.
// The described form has lists of the frame's name and the record with field names; the text form has one line {"name":
// record}. In both an entry and its body are one record.
//
// # Depth
//
// A capsule need not hold the whole memory: see Depth, which also says what a node may do with a shallower one.
//
// # A file as a store
//
// OpenStore runs an agent in its own file: entries are appended, and what a crash left unfinished at the end is cut.
package capsule
