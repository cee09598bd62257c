package simulate

import (
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// sched lets one call at a time go on.
type sched struct {
	seed    uint64
	mu      sync.Mutex
	parked  []*parked
	counts  map[string]int
	arrived chan struct{} // something is parked
	steps   int
	log     []string // what happened outside of steps since the last one, in any order
	trace   *tracer
}

// parked is a call that waits to be let go on.
type parked struct {
	who   *life
	label string
	rank  uint64 // random, from the label
	since int    // the step it came at
	let   chan bool
}

func newSched(seed uint64) *sched {
	return &sched{seed: seed, counts: map[string]int{}, arrived: make(chan struct{}, 1), trace: newTracer()}
}

// chance is a number that follows from the seed and words.
func (s *sched) chance(words ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, s.seed)
	for _, w := range words {
		fmt.Fprint(h, "|", w)
	}
	x := h.Sum64() // its low bits differ too little for close inputs
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// park waits until the scheduler lets the caller go on. A caller that has died ends here.
func (s *sched) park(who *life, label string) {
	if who.over() {
		runtime.Goexit()
	}
	if who.inline {
		s.note(label)
		return
	}
	s.mu.Lock()
	s.counts[label]++
	p := &parked{who: who, label: label, since: s.steps, let: make(chan bool, 1)}
	p.rank = s.chance("rank", label, s.counts[label]) % 24
	s.parked = append(s.parked, p)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	if !<-p.let {
		runtime.Goexit()
	}
}

// note records something that is no step.
func (s *sched) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// next takes the call that is to go on out of those parked; nil: there is none.
func (s *sched) next(now time.Time) *parked {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.parked, func(a, b *parked) int { return strings.Compare(a.label, b.label) })
	best := -1
	score := func(p *parked) int { return int(p.rank) + s.steps - p.since }
	for i, p := range s.parked {
		if now.Before(p.who.frozen) {
			continue
		}
		if best < 0 || score(p) > score(s.parked[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	p := s.parked[best]
	s.parked = slices.Delete(s.parked, best, best+1)
	return p
}

// settle waits until everything stands still, and puts what happened meanwhile on the trace.
func (s *sched) settle() {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.log)
	for _, l := range s.log {
		s.trace.add(l)
	}
	s.log = s.log[:0]
	select {
	case <-s.arrived:
	default:
	}
}

// elapse lets time pass. Timers of one moment fire one after the other: at the end of it, all have.
func (s *sched) elapse(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
		synctest.Wait()
	}
	time.Sleep(time.Nanosecond)
	s.settle()
}

// step lets one call go on. It reports false when there is none.
func (s *sched) step() bool {
	p := s.next(time.Now())
	if p == nil {
		return false
	}
	s.steps++
	s.trace.add(fmt.Sprintf("%d %s %s", s.steps, time.Now().Format("05.000000"), p.label))
	p.let <- true
	s.settle()
	return true
}

// drop ends the calls of who has died.
func (s *sched) drop(who *life) {
	s.mu.Lock()
	s.parked = slices.DeleteFunc(s.parked, func(p *parked) bool {
		if p.who == who {
			p.let <- false
		}
		return p.who == who
	})
	s.mu.Unlock()
}

// idle lets time pass until something is parked, at most for d. It reports whether something is.
func (s *sched) idle(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.arrived:
		s.elapse(0)
		return true
	case <-t.C:
		s.elapse(0)
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.parked) > 0
	}
}
