package capsule

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// The letters of frames. They are frozen: do NOT reuse.
const (
	frameHead     = 'H'
	frameSchema   = 'S'
	frameEntry    = 'E'
	framePayload  = 'P'
	frameChunk    = 'K'
	frameManifest = 'M'
	frameIndex    = 'Z'
)

// Head is the first frame of a capsule: what it is, of whom, and what of the memory it holds.
type Head struct {
	Magic   string          `canon:"1,magic"`
	Version int64           `canon:"2,version"`
	Agent   perdure.AgentID `canon:"3,agent"`
	Depth   Depth           `canon:"4,depth"`
	Binding Binding         `canon:"5,binding"`
	Unicode string          `canon:"6,unicode"`         // of the tables text was judged by
	Schema  perdure.Hash    `canon:"7,schema,omitzero"` // of entries; absent: the built-in one of this version
	Limits  FrameLimits     `canon:"8,limits"`
	Shared  bool            `canon:"9,shared,omitzero"`  // chunks are kept beside the capsule, in the set it belongs to
	Anchor  *Anchor         `canon:"10,anchor,optional"` // absent when the capsule begins with genesis

	Reserved canon.Reserved `canon:",reserved"`
}

// FrameLimits are the bounds a capsule was written within.
type FrameLimits struct {
	Inline int64 `canon:"1,inline"` // the largest body that is not cut into chunks
	Chunk  int64 `canon:"2,chunk"`  // the largest chunk
	// how many bytes of chunks a reader keeps; 0: none, every body has all its chunks after it, as in a store
	Window int64 `canon:"3,window"`
}

// Anchor is the place in memory at which a capsule begins that does not begin with genesis: just before the snapshot
// that is its first entry.
type Anchor struct {
	Seq   int64          `canon:"1,seq"`   // the highest seq before it
	Heads []perdure.Hash `canon:"2,heads"` // the heads there, ascending
	State perdure.Hash   `canon:"3,state"` // the hash of the fold there, which the snapshot states
}

// payload is what P holds: the body of the entry before it, or the chunks that make it up, or neither when the body was
// dropped.
type payload struct {
	Body   []byte     `canon:"1,body,omitzero"`
	Chunks []chunkRef `canon:"2,chunks,omitzero"`
	// the entry after this one was added together with it: one is not there without the other
	More bool `canon:"3,more,omitzero"`
}

// chunkRef names a chunk.
type chunkRef struct {
	Name perdure.Hash `canon:"1,name"` // of its unpacked bytes
	Size int64        `canon:"2,size"`
}

// chunkRecord is a chunk.
type chunkRecord struct {
	Name perdure.Hash `canon:"1,name"`
	Size int64        `canon:"2,size"`
	Data []byte       `canon:"3,data"` // one zstd frame
}

// Index is the last frame of a capsule: what a reader can hold the rest against.
type Index struct {
	Entries int64          `canon:"1,entries"`
	Bodies  int64          `canon:"2,bodies"` // entries whose body is there
	Chunks  int64          `canon:"3,chunks"` // chunks in this file
	Heads   []perdure.Hash `canon:"4,heads"`  // ascending
	Length  int64          `canon:"5,length"` // bytes before this frame
	Digest  perdure.Hash   `canon:"6,digest"` // of those bytes
	Every   []int64        `canon:"7,every,omitzero"`
}

// schemaRecord is what S holds: the description of entries.
type schemaRecord struct {
	Entry canon.Data `canon:"1,entry"`
}

var (
	headCodec     = canon.For[Head]("capsule-head")
	schemaCodec   = canon.For[schemaRecord]("capsule-schema")
	payloadCodec  = canon.For[payload]("capsule-payload")
	chunkCodec    = canon.For[chunkRecord]("capsule-chunk")
	manifestCodec = canon.For[Manifest]("capsule-manifest")
	indexCodec    = canon.For[Index]("capsule-index")
)

// named are the frames that are records of their own in every form, with their names in the described and the text
// form.
var named = []struct {
	letter byte
	name   string
	typ    func() *canon.Type
}{
	{frameHead, "head", headCodec.Type},
	{frameSchema, "schema", schemaCodec.Type},
	{framePayload, "payload", payloadCodec.Type},
	{frameChunk, "chunk", chunkCodec.Type},
	{frameManifest, "manifest", manifestCodec.Type},
	{frameIndex, "index", indexCodec.Type},
}

// frameName is the name of a frame in the described and the text form.
func frameName(letter byte) (string, *canon.Type) {
	for i := range named {
		if named[i].letter == letter {
			return named[i].name, named[i].typ()
		}
	}
	return "entry", nil
}

// frame is one frame of a capsule in any form. An entry and its payload are one.
type frame struct {
	letter byte
	at     int64  // where it begins in the input
	record []byte // canonical binary form; of an entry only the payload, without a body

	header, signature, body []byte // of an entry
	base                    int64  // where the header begins, for offsets
	bodyBase                int64
	entry                   *perdure.Entry // of an entry that came whole
	payload                 payload
}

// encoder writes frames in one form.
type encoder interface {
	// record appends a frame that is a record of its own, given in binary form.
	record(dst []byte, letter byte, rec []byte) ([]byte, error)
	// entry appends an entry. The body is written only if the payload has neither chunks nor is the body dropped.
	entry(dst []byte, e *perdure.Entry, p *payload) ([]byte, error)
}

// decoder reads frames in one form.
type decoder interface {
	// next returns the next frame, io.EOF at the end of the input, and a *perdure.Rejection for bytes that are no
	// frame.
	next() (*frame, error)
	// offset is where the next frame begins.
	offset() int64
}
