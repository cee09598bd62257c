package perdure

// cache holds agents as they were folded last, by their ids. Whoever uses it holds the lock of the node.
type cache struct {
	all   map[AgentID]*cached
	clock uint64 // counts what is looked for
}

type cached struct {
	a    *Agent
	used uint64
}

// get is an agent, or nil.
func (c *cache) get(id AgentID) *Agent {
	x := c.all[id]
	if x == nil {
		return nil
	}
	c.clock++
	x.used = c.clock
	return x.a
}

// sampled is how many agents are looked at to find one that may go: the longest unused of so many is unused for long,
// and to find the very longest is not worth a list of them.
const sampled = 8

// put adds an agent. Of more than size, one goes that was not used for long: a miss costs a load, never the truth.
func (c *cache) put(a *Agent, size int) {
	c.clock++
	if x := c.all[a.ID()]; x != nil {
		x.a, x.used = a, c.clock
		return
	}
	for len(c.all) >= max(size, 1) {
		c.evict()
	}
	if c.all == nil {
		c.all = map[AgentID]*cached{}
	}
	c.all[a.ID()] = &cached{a, c.clock}
}

func (c *cache) evict() {
	var oldest AgentID
	var used uint64
	n := 0
	for id, x := range c.all { // in any order
		if n == 0 || x.used < used {
			oldest, used = id, x.used
		}
		if n++; n == sampled {
			break
		}
	}
	delete(c.all, oldest)
}

func (c *cache) drop(id AgentID) { delete(c.all, id) }
