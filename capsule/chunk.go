package capsule

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// cut names the chunks of a body.
func cut(body []byte) ([]chunkRef, error) {
	sizes, err := chunk.Cuts(body)
	refs := make([]chunkRef, len(sizes))
	for i, n := range sizes {
		refs[i] = chunkRef{perdure.HashOf(body[:n]), int64(n)}
		body = body[n:]
	}
	return refs, err
}

// packed is the record of a chunk.
func (c chunkRef) packed(b []byte) ([]byte, error) {
	return chunkCodec.Append(nil, &chunkRecord{Name: c.Name, Size: c.Size, Data: chunk.Pack(b)})
}

// unpacked returns the bytes of a chunk out of its record, which must be the one that c names.
func (c chunkRef) unpacked(rec []byte, at int64) ([]byte, error) {
	var k chunkRecord
	if err := chunkCodec.Decode(rec, &k, canon.Limits{}); err != nil {
		return nil, moved(err, at)
	}
	if k.Name != c.Name || k.Size != c.Size {
		return nil, reject(PredChunk, at, "$.name", k.Name.Short(), "chunk "+c.Name.Short())
	}
	b, err := chunk.Unpack(k.Data, c.Name, c.Size, chunk.MaxSize)
	return b, moved(err, at)
}

// window is the chunks that came by last: what a writer does not write again and a reader still has.
type window struct {
	held  map[perdure.Hash][]byte // a writer keeps no bytes
	order []chunkRef
	size  int64
	max   int64
}

func (w *window) add(c chunkRef, b []byte) {
	if w.held == nil {
		w.held = map[perdure.Hash][]byte{}
	}
	w.held[c.Name] = b
	w.order = append(w.order, c)
	for w.size += c.Size; w.size > w.max; w.order = w.order[1:] {
		delete(w.held, w.order[0].Name)
		w.size -= w.order[0].Size
	}
}

// Chunks is where a set keeps the chunks its capsules share.
type Chunks interface {
	// Chunk returns the record of a chunk, or an error wrapping perdure.ErrNotFound.
	Chunk(name perdure.Hash) ([]byte, error)
	// PutChunk durably keeps the record of a chunk; one that is there already stays.
	PutChunk(name perdure.Hash, record []byte) error
}
