package chunk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/perdure/perdure/internal/canon"
)

// packer is shared: EncodeAll is safe for concurrent use.
var packer = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return w
})

// Pack returns b as one zstd frame that Unpack accepts: what would expand more than maxRatio times is stored as it is.
func Pack(b []byte) []byte {
	packed := packer().EncodeAll(b, nil)
	if int64(len(b)) > maxRatio*int64(len(packed)) {
		return storedFrame(b)
	}
	return packed
}

// storedFrame returns b as a zstd frame of raw blocks (RFC 8878 §3.1.1): one segment, its size in eight bytes.
func storedFrame(b []byte) []byte {
	const blockSize = 128 << 10
	dst := binary.LittleEndian.AppendUint32(make([]byte, 0, len(b)+len(b)/blockSize*3+16), 0xfd2fb528)
	dst = binary.LittleEndian.AppendUint64(append(dst, 0xe0), uint64(len(b)))
	for {
		n := min(len(b), blockSize)
		block := n << 3
		if n == len(b) {
			block |= 1 // last
		}
		dst = append(dst, byte(block), byte(block>>8), byte(block>>16))
		dst = append(dst, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return dst
		}
	}
}

// Unpack returns the bytes packed holds: size of them, whose SHA-256 is name. It refuses a size over most, a size over
// maxRatio times the packed one, and a frame that unpacks to anything else, before it holds more than size bytes.
func Unpack(packed []byte, name [32]byte, size, most int64) ([]byte, error) {
	num := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch {
	case size < 0 || size > most:
		return nil, reject(PredSize, 0, canon.Count(size, "bytes announced"), "at most "+num(most))
	case size > maxRatio*int64(len(packed)):
		return nil, reject(PredRatio, 0, canon.Count(size, "bytes out of ")+num(int64(len(packed))),
			"at most "+num(maxRatio)+" times as many")
	}
	var head zstd.Header
	if err := head.Decode(packed); err != nil {
		return nil, reject(PredZstd, 0, err.Error(), "a zstd frame")
	}
	if head.Skippable || head.HasFCS && head.FrameContentSize != uint64(size) {
		return nil, reject(PredSize, 0, canon.Count(int64(head.FrameContentSize), "bytes in the frame"), num(size))
	}
	n, r := frameLen(packed, &head)
	if r != nil {
		return nil, r
	}
	if n != len(packed) {
		return nil, reject(PredZstd, int64(n), canon.Count(len(packed)-n, "more bytes"), "one frame")
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(uint64(max(size, zstd.MinWindowSize))),
		zstd.WithDecoderMaxWindow(uint64(max(most, zstd.MinWindowSize))))
	if err != nil {
		return nil, reject(PredZstd, 0, err.Error(), "a decoder")
	}
	defer d.Close()
	b, err := d.DecodeAll(packed, make([]byte, 0, size))
	if err == zstd.ErrDecoderSizeExceeded || err == nil && int64(len(b)) != size {
		return nil, reject(PredSize, 0, "another size", canon.Count(size, "bytes"))
	}
	if err != nil {
		return nil, reject(PredZstd, 0, err.Error(), "a zstd frame")
	}
	if sum := sha256.Sum256(b); sum != name {
		return nil, reject(PredName, 0, hex.EncodeToString(sum[:6])+"…", hex.EncodeToString(name[:6])+"…")
	}
	return b, nil
}

// frameLen returns the length of the first frame of b by its block headers (RFC 8878 §3.1.1).
func frameLen(b []byte, head *zstd.Header) (int, *canon.Rejection) {
	i := head.HeaderSize
	for last := false; !last; {
		if len(b)-i < 3 {
			return 0, reject(PredZstd, int64(len(b)), "the end", "a block")
		}
		block := int(b[i]) | int(b[i+1])<<8 | int(b[i+2])<<16
		last = block&1 != 0
		size := block >> 3
		if block>>1&3 == 1 { // a run: one byte, repeated
			size = 1
		}
		i += 3 + size
		if i > len(b) {
			return 0, reject(PredZstd, int64(len(b)), "the end", "a whole block")
		}
	}
	if head.HasCheckSum {
		i += 4
	}
	return i, nil
}
