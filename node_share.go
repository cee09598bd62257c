package perdure

import "time"

const (
	// asideEvery is how often a node whose places are all taken looks for due agents of other scopes; asideShare how
	// many times longer than a look it is at least until the next.
	asideEvery, asideShare = 250 * time.Millisecond, 20
	// asideFor is how long after all places were taken the agents it found then are still believed to be due.
	asideFor = time.Minute
	// maxAside bounds the agents it remembers from that, of all scopes.
	maxAside = 1 << 14
	// maxShares bounds the scopes of which it remembers when one of their agents last had its turn.
	maxShares = 1 << 12
)

// share gives each scope its part of a node. Agents are due earliest first, so ten thousand of one scope would keep a
// single one of another waiting until all of them had their turn. Where all places are taken, a place that becomes
// free goes to the scope with the fewest agents at work here, and of those with as few to the one whose turn is the
// longest ago. Which scopes have agents that are due is found out beside the usual look, and not all the time: that
// reads past all that are due earlier.
type share struct {
	working map[string]int    // agents at work here, by scope
	last    map[string]uint64 // which start was the last of a scope
	starts  uint64
	aside   map[string][]Look // due agents by scope, earliest first
	crowded time.Time         // when all places were taken last
	looking bool
	again   time.Time // not to be looked again before that
}

// started counts an agent that a place was given to.
func (s *share) started(scope string) {
	if s.working == nil || len(s.last) >= maxShares {
		s.last = map[string]uint64{}
	}
	if s.working == nil {
		s.working = map[string]int{}
	}
	s.starts++
	s.last[scope] = s.starts
	s.working[scope]++
}

// stopped counts one that has given its place back.
func (s *share) stopped(scope string) {
	if s.working[scope]--; s.working[scope] == 0 {
		delete(s.working, scope)
	}
}

// before reports whether a scope has less of the node than another.
func (s *share) before(scope, other string) bool {
	if mine, theirs := s.working[scope], s.working[other]; mine != theirs {
		return mine < theirs
	}
	return s.last[scope] < s.last[other]
}

// next takes out what is due of the scope that has least of the node, if that is less than another scope has. What was
// found before the node had places free is forgotten: nobody knows what became of it since.
func (s *share) next(than string, now time.Time) (Look, bool) {
	if now.Sub(s.crowded) > asideFor {
		s.aside = nil
	}
	best, found := than, false
	for scope := range s.aside {
		if s.before(scope, best) {
			best, found = scope, true
		}
	}
	if !found {
		return Look{}, false
	}
	of := s.aside[best]
	if len(of) == 1 {
		delete(s.aside, best)
	} else {
		s.aside[best] = of[1:]
	}
	return of[0], true
}

// fairest is who gets a place that is free: an agent of another scope that has less of this node, or the given one.
func (l *loop) fairest(look Look, now time.Time) Look {
	for {
		l.mu.Lock()
		other, found := l.share.next(look.Scope, time.Now())
		l.mu.Unlock()
		if !found {
			return look
		}
		if other.Agent == look.Agent || l.busy(other.Agent) {
			continue
		}
		if _, rests := l.n.atRest(l.ctx, other.Agent, now); !rests {
			return other
		}
	}
}

// lookAside finds out, in a goroutine of its own, which scopes have agents that are due, unless that was done of late.
func (l *loop) lookAside() {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.share.crowded = now
	if l.share.looking || now.Before(l.share.again) {
		return
	}
	l.share.looking = true
	l.watchers.Go(func() {
		found := l.scopesDue(now)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.share.aside, l.share.looking = found, false
		l.share.again = time.Now().Add(max(asideEvery, asideShare*time.Since(now)))
	})
}

// scopesDue are the first agents of each scope that are due. A look that fails says nothing: the usual one says why.
func (l *loop) scopesDue(now time.Time) map[string][]Look {
	found, kept := map[string][]Look{}, 0
	for look, err := range l.n.Store.Due(l.ctx, now) {
		if err != nil || kept == maxAside {
			break
		}
		if of := found[look.Scope]; len(of) < cap(l.slots) && !l.busy(look.Agent) {
			found[look.Scope] = append(of, look)
			kept++
		}
	}
	return found
}
