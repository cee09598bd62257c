package perdure

import "encoding/binary"

// maxReach is how many due agents a node leaves to others at most before it tries one again.
const maxReach = 1 << 14

// crowd keeps the nodes of one store from all wanting the same agents. Each looks for those that are due earliest
// first, so where many are due at once all would try the same one, and all but one in vain. A node that came too late
// for an agent leaves some of those that follow to others: more of them each time, until it gets one. How many is by
// chance, and different for each node.
type crowd struct {
	leave int // how many to leave
	reach int // fewer than this many the next time
}

// refused says that another node had an agent first.
func (l *loop) refused(id AgentID) {
	key := l.n.Key.Key()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.crowd
	c.reach = min(max(2*c.reach, 2*cap(l.slots)), maxReach)
	chance := (binary.LittleEndian.Uint64(id[:]) ^ binary.LittleEndian.Uint64(key[:])) * 0x9e3779b97f4a7c15
	c.leave = int(chance >> 33 % uint64(c.reach))
}

// taken says that an agent was claimed here.
func (l *loop) taken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crowd.reach = 0
}

// leaves reports whether a due agent is left to others.
func (l *loop) leaves() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.crowd.leave == 0 {
		return false
	}
	l.crowd.leave--
	return true
}

// atEnd says that there are no more due agents, to leave to others or to prefer.
func (l *loop) atEnd() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crowd.leave = 0
	l.share.aside = nil // they have had their turn, or are found again
}
