package main

import "math/rand/v2"

// node is a process that works on the agents of an engine.
type node struct {
	c     *clock
	p     *Params
	e     *engine
	rng   *rand.Rand
	res   *Result
	free  int             // agents it can take on
	cores float64         // when its processor is free again
	left  map[int]float64 // until when it leaves agents alone that it was refused
	has   map[int]bool    // what it has under way
	looks bool            // it is looking for work
	lost  bool
	skip  int // how many due agents to pass over, since others want the same
	reach int // how many it passes over at most next time
}

func newNode(e *engine, res *Result, rng *rand.Rand) *node {
	return &node{c: e.c, p: e.p, e: e, rng: rng, res: res, free: e.p.Slots, left: map[int]float64{},
		has: map[int]bool{}}
}

// look looks for due agents, and again later.
func (n *node) look() {
	if n.lost || n.looks {
		return
	}
	n.looks = true
	n.scan(0, false)
}

// scan goes through the due agents from a place on. Passed says that it left some to others.
func (n *node) scan(from int, passed bool) {
	n.e.ask(n.p.Look.Seconds(), func() {
		if n.lost {
			return
		}
		page, next := n.e.page(from)
		for _, a := range page {
			switch {
			case n.free == 0:
				n.rest(true)
				return
			case n.skip > 0:
				n.skip--
				passed = true
			case n.left[a] <= n.c.now && !n.has[a]:
				n.claim(a)
			}
		}
		if len(page) == n.p.Page {
			n.scan(next, passed)
			return
		}
		n.rest(passed)
	})
}

// rest ends a look. The next is soon if there was more to do.
func (n *node) rest(more bool) {
	n.looks = false
	wait := 1.0
	if more && n.free > 0 {
		wait = 0.01
	}
	n.c.in(wait*(0.9+0.2*n.rng.Float64()), n.look)
}

// claim takes an agent, unless another was first.
func (n *node) claim(a int) {
	n.free--
	n.has[a] = true
	n.e.ask(n.p.Claim.Seconds(), func() {
		if n.lost {
			return
		}
		x := &n.e.agents[a]
		if x.taken() {
			n.e.refused++
			n.left[a] = n.c.now + 1
			n.give(a)
			if n.p.Spread {
				n.reach = min(max(2*n.reach, 16), 1<<16)
				n.skip = n.rng.IntN(n.reach)
			}
			return
		}
		n.e.claimed++
		n.reach = 0
		x.holds = n
		n.res.waited(n.c.now - x.at)
		n.step(a, n.p.Steps)
	})
}

// give ends work on an agent.
func (n *node) give(a int) {
	delete(n.has, a)
	if n.free++; n.free == 1 {
		n.look()
	}
}

// step does what is left to do for an agent.
func (n *node) step(a, left int) {
	if left == 0 {
		n.e.ask(n.p.Claim.Seconds(), func() { // released
			if n.lost {
				return
			}
			n.e.agents[a].done, n.e.agents[a].holds = true, nil
			n.res.done++
			n.res.last = n.c.now
			n.give(a)
		})
		return
	}
	n.cores = max(n.cores, n.c.now) + n.p.CPU.Seconds()/n.p.Cores
	n.c.in(n.cores-n.c.now+n.rng.ExpFloat64()*n.p.Tool.Seconds(), func() {
		if n.lost {
			return
		}
		n.e.ask(n.p.Commit.Seconds(), func() {
			if !n.lost {
				n.step(a, left-1)
			}
		})
	})
}

// lose ends a node. What it had is due again when the leases end.
func (n *node) lose() {
	n.lost = true
	for a := range n.has {
		if n.e.agents[a].holds != n {
			continue
		}
		n.res.interrupted++
		n.c.in(n.p.Lease.Seconds()*n.rng.Float64(), func() {
			n.e.again(a)
			n.e.agents[a].at = n.c.now
		})
	}
}
