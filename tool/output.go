package tool

import (
	"fmt"
	"strings"
	"sync"
)

// output keeps the beginning and the end of what is written to it.
type output struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	limit int    // of each half
	total int64
}

func newOutput(limit int) *output { return &output{limit: max(limit/2, 1)} }

// Write implements io.Writer. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	o.total += int64(n)
	room := min(o.limit-len(o.head), n)
	o.head, p = append(o.head, p[:room]...), p[room:]
	if len(p) > o.limit {
		p = p[len(p)-o.limit:]
	}
	for len(p) > 0 {
		if len(o.tail) < o.limit {
			room := min(o.limit-len(o.tail), len(p))
			o.tail, p = append(o.tail, p[:room]...), p[room:]
			continue
		}
		c := copy(o.tail[o.next:], p)
		p, o.next = p[c:], (o.next+c)%o.limit
	}
	return n, nil
}

// Truncated reports whether something was left out.
func (o *output) Truncated() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left() > 0
}

func (o *output) left() int64 { return o.total - int64(len(o.head)+len(o.tail)) }

// String is what was kept as text, with a marker where something was left out.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := string(o.tail[o.next:]) + string(o.tail[:o.next])
	left := o.left()
	if left == 0 {
		return strings.ToValidUTF8(string(o.head)+tail, "\uFFFD")
	}
	return strings.ToValidUTF8(string(o.head), "\uFFFD") + fmt.Sprintf("\n[… %d bytes left out …]\n", left) + strings.ToValidUTF8(tail, "\uFFFD")
}
