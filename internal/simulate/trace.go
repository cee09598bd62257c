package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// tracer keeps what happened: a hash of all, and the last lines.
type tracer struct {
	sum  hash.Hash
	n    int
	last []string
	out  io.Writer // everything, if somebody reads it
}

// tail is how many lines are kept.
const tail = 60

func newTracer() *tracer { return &tracer{sum: sha256.New()} }

func (t *tracer) add(line string) {
	t.n++
	io.WriteString(t.sum, line+"\n")
	if len(t.last) >= 2*tail {
		t.last = append(t.last[:0], t.last[tail:]...)
	}
	t.last = append(t.last, line)
	if t.out != nil {
		io.WriteString(t.out, line+"\n")
	}
}

func (t *tracer) hash() string { return hex.EncodeToString(t.sum.Sum(nil)) }

func (t *tracer) tail() []string { return t.last[max(0, len(t.last)-tail):] }
