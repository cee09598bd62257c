package condition

import (
	"container/list"
	"sync"
)

// cache keeps the programs used last, by source text. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	max   int
	used  *list.List // of *Program, the one used last in front
	bySrc map[string]*list.Element
}

func newCache(max int) *cache {
	return &cache{max: max, used: list.New(), bySrc: make(map[string]*list.Element)}
}

func (c *cache) get(src string) (*Program, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.bySrc[src]
	if !ok {
		return nil, false
	}
	c.used.MoveToFront(el)
	return el.Value.(*Program), true
}

// put adds a program and drops the one not used for longest if there are too many.
func (c *cache) put(src string, p *Program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.bySrc[src]; ok { // compiled twice at once: either will do
		c.used.MoveToFront(el)
		return
	}
	c.bySrc[src] = c.used.PushFront(p)
	if c.used.Len() > c.max {
		last := c.used.Back()
		delete(c.bySrc, c.used.Remove(last).(*Program).src)
	}
}

func (c *cache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used.Len()
}
