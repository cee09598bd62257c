package server

import (
	"sync"
	"time"
)

// guesses are how often somebody who is not known may ask: nobody tries tokens at leisure.
var guesses = Limits{Rate: 5, Burst: 50}

// gate lets each visitor ask so often. The zero gate is ready.
type gate struct {
	mu  sync.Mutex
	all map[string]*bucket
}

// bucket holds what one visitor may ask for now.
type bucket struct {
	left, most float64
	rate       float64 // by which it fills
	at         time.Time
}

// fill adds what has come since.
func (b *bucket) fill(now time.Time) {
	if now.After(b.at) { // of several at once, one may have looked at the clock before another
		b.left = min(b.most, b.left+now.Sub(b.at).Seconds()*b.rate)
		b.at = now
	}
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
			g.sweep(now)
		}
		b = &bucket{left: float64(l.Burst), most: float64(l.Burst), rate: l.Rate, at: now}
		g.all[who] = b
	}
	b.fill(now)
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// sweep forgets those who have asked nothing for long enough; of more than there is room for, all.
func (g *gate) sweep(now time.Time) {
	for who, b := range g.all {
		if b.fill(now); b.left >= b.most {
			delete(g.all, who)
		}
	}
	if len(g.all) >= maxBuckets {
		clear(g.all)
	}
}
