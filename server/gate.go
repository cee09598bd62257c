package server

import (
	"sync"
	"time"
)

// gate lets each visitor ask so often. The zero gate is ready.
type gate struct {
	mu  sync.Mutex
	all map[string]*bucket
}

// bucket holds what one visitor may ask for now.
type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets bounds the visitors that are told apart. A full bucket is the same as none.
const maxBuckets = 10_000

// let takes one from the bucket of a visitor, if there is one.
func (g *gate) let(who string, l Limits, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.all[who]
	if b == nil {
		if g.all == nil {
			g.all = map[string]*bucket{}
		}
		if len(g.all) >= maxBuckets {
			g.sweep(l, now)
		}
		b = &bucket{float64(l.Burst), now}
		g.all[who] = b
	}
	if now.After(b.at) { // of several at once, one may have looked at the clock before another
		b.left = min(float64(l.Burst), b.left+now.Sub(b.at).Seconds()*l.Rate)
		b.at = now
	}
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// sweep forgets those who have asked nothing for long enough; of more than there is room for, all.
func (g *gate) sweep(l Limits, now time.Time) {
	for who, b := range g.all {
		if b.left+now.Sub(b.at).Seconds()*l.Rate >= float64(l.Burst) {
			delete(g.all, who)
		}
	}
	if len(g.all) >= maxBuckets {
		clear(g.all)
	}
}
