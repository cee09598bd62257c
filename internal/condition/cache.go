package condition

import (
	"container/list"
	"sync"
)

// cache keeps the programs used last, by source text, and why those that do not compile do not: finding that out again
// costs as much. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	max   int
	used  *list.List // of *compiled, the one used last in front
	bySrc map[string]*list.Element
}

// compiled is what came of compiling a source text.
type compiled struct {
	src string
	p   *Program
	err error
}

func newCache(max int) *cache {
	return &cache{max: max, used: list.New(), bySrc: make(map[string]*list.Element)}
}

func (c *cache) get(src string) (*compiled, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.bySrc[src]
	if !ok {
		return nil, false
	}
	c.used.MoveToFront(el)
	return el.Value.(*compiled), true
}

// put adds what came of a source text and drops the one not used for longest if there are too many.
func (c *cache) put(p *compiled) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.bySrc[p.src]; ok { // compiled twice at once: either will do
		c.used.MoveToFront(el)
		return
	}
	c.bySrc[p.src] = c.used.PushFront(p)
	if c.used.Len() > c.max {
		last := c.used.Back()
		delete(c.bySrc, c.used.Remove(last).(*compiled).src)
	}
}

func (c *cache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used.Len()
}
