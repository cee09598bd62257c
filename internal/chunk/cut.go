package chunk

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	chunkers "github.com/PlakarKorp/go-cdc-chunkers"
	_ "github.com/PlakarKorp/go-cdc-chunkers/chunkers/fastcdc" // registers itself
)

// The bounds of chunks (frozen: changing one changes where values are cut). Small enough that a bad byte is noticed
// soon, large enough that zstd finds something to do.
const (
	minSize    = 16 << 10
	normalSize = 32 << 10
	// MaxSize is the largest chunk.
	MaxSize = 64 << 10
	// maxRatio is how many times its packed size a chunk may be: real text packs 5 to 20 times; bombs thousands of
	// times.
	maxRatio = 128
)

// algorithm names FastCDC as its first release cut (frozen).
const algorithm = "fastcdc-v1.0.0"

var chunkerPool = sync.Pool{New: func() any {
	o := chunkers.ChunkerOpts{MinSize: minSize, NormalSize: normalSize, MaxSize: MaxSize}
	c, err := chunkers.NewChunker(algorithm, bytes.NewReader(nil), &o)
	if err != nil {
		panic(fmt.Sprintf("chunk: %v", err)) // the options are constants
	}
	return c
}}

// Cuts says how long the chunks of a value are: cut by content, so that values that share a part share its chunks.
func Cuts(value []byte) ([]int, error) {
	c := chunkerPool.Get().(*chunkers.Chunker)
	defer chunkerPool.Put(c)
	c.Reset(bytes.NewReader(value))
	var sizes []int
	for {
		b, err := c.Next()
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("cut %d bytes into chunks: %w", len(value), err)
		}
		if len(b) > 0 {
			sizes = append(sizes, len(b))
		}
		if err == io.EOF {
			return sizes, nil
		}
	}
}
