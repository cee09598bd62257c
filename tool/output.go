package tool

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// output keeps the beginning and the end of what is written to it, and a margin more of each, so that a secret is known
// as one that the cut goes through.
type output struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	keep  int    // of each half
	limit int    // of each half that is shown
	total int64
}

func newOutput(limit, margin int) *output {
	half := max(limit/2, 1)
	return &output{limit: half, keep: half + margin}
}

// Write implements io.Writer. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	o.total += int64(n)
	room := min(o.keep-len(o.head), n)
	o.head, p = append(o.head, p[:room]...), p[room:]
	if len(p) > o.keep {
		p = p[len(p)-o.keep:]
	}
	for len(p) > 0 {
		if len(o.tail) < o.keep {
			room := min(o.keep-len(o.tail), len(p))
			o.tail, p = append(o.tail, p[:room]...), p[room:]
			continue
		}
		c := copy(o.tail[o.next:], p)
		p, o.next = p[c:], (o.next+c)%o.keep
	}
	return n, nil
}

// Truncated reports whether something is left out.
func (o *output) Truncated() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left() > 0
}

func (o *output) left() int64 { return max(o.total-2*int64(o.limit), 0) }

// text is what is shown as text, without secrets, and with a marker where something is left out.
func (o *output) text(r *redactor) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	begin, end := o.head, slices.Concat(o.tail[o.next:], o.tail[:o.next])
	if o.total <= 2*int64(o.keep) { // all of it is there
		begin = slices.Concat(begin, end)
		end = begin
	}
	left := o.left()
	if left == 0 {
		return strings.ToValidUTF8(r.replace(string(begin)), "\uFFFD")
	}
	first, last := r.cut(begin, 0, o.limit), r.cut(end, len(end)-o.limit, len(end))
	shown := func(b []byte) string { return strings.ToValidUTF8(r.replace(string(b)), "\uFFFD") }
	return shown(first) + fmt.Sprintf("\n[… %d bytes left out …]\n", left) + shown(last)
}
