package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Params are what a fleet is like, and what things cost.
type Params struct {
	Agents, Nodes, Engines int
	Period                 time.Duration // within which every agent wakes once
	Storm                  float64       // the share of agents that wakes at once
	Steps                  int           // of a wake-up

	Width               int           // requests an engine performs at once
	Look, Claim, Commit time.Duration // what an engine takes for each
	CPU                 time.Duration // what a node computes per step
	Tool                time.Duration // what a tool or model takes, on average
	Cores               float64       // of a node
	Slots, Page         int
	Lease, Failover     time.Duration
	Spread              bool
	Seed                uint64
}

// Result is what a fleet did.
type Result struct {
	Name     string  `json:"scenario"`
	Woken    int     `json:"woken"`
	Done     int     `json:"done"`
	P50      float64 `json:"wait_p50_s"`
	P99      float64 `json:"wait_p99_s"`
	Longest  float64 `json:"wait_longest_s"`
	Claims   float64 `json:"claims_per_wake"`
	Busy     float64 `json:"engine_busy"`
	Took     float64 `json:"took_s"`
	Resumed  int     `json:"interrupted"`
	Requests float64 `json:"requests_per_engine_s"`

	waits       []float32
	done        int
	last        float64
	interrupted int
}

func (r *Result) waited(s float64) { r.waits = append(r.waits, float32(s)) }

// fleet is one engine after the other: they share nothing. Begin plans what happens to an engine.
func (p Params) fleet(name string, lasts float64, begin func(e *engine, of int, rng *rand.Rand)) Result {
	r := Result{Name: name}
	var asks, busy, refused, claimed float64
	for i := range p.Engines {
		rng := rand.New(rand.NewPCG(p.Seed, uint64(i)))
		c := new(clock)
		e := &engine{c: c, p: &p}
		for range share(p.Nodes, p.Engines, i) {
			n := newNode(e, &r, rng)
			e.nodes = append(e.nodes, n)
			c.in(rng.Float64(), n.look)
		}
		begin(e, i, rng)
		end := lasts
		c.until(end)
		for e.left() > 0 && end < 24*3600 {
			end += 60
			c.until(end)
		}
		r.Woken += len(e.agents)
		asks += float64(e.asks) / end
		busy += e.useful / end / float64(p.Width)
		refused += float64(e.refused)
		claimed += float64(e.claimed)
	}
	r.Done, r.Resumed, r.Took = r.done, r.interrupted, r.last
	r.Requests, r.Busy = asks/float64(p.Engines), busy/float64(p.Engines)
	r.Claims = (refused + claimed) / max(claimed, 1)
	slices.Sort(r.waits)
	r.P50, r.P99, r.Longest = r.at(0.5), r.at(0.99), r.at(1)
	return r
}

// left is how many agents are due or under way.
func (e *engine) left() (n int) {
	for i := range e.agents {
		if !e.agents[i].done {
			n++
		}
	}
	return n
}

func (r *Result) at(q float64) float64 {
	if len(r.waits) == 0 {
		return 0
	}
	return float64(r.waits[int(math.Ceil(q*float64(len(r.waits))))-1])
}

// share is the i-th part of something that is parted evenly.
func share(all, parts, i int) int { return all*(i+1)/parts - all*i/parts }

// steady lets agents wake at random times for ten minutes.
func (p Params) steady() Result {
	const lasts = 600
	return p.fleet("steady", lasts, func(e *engine, i int, rng *rand.Rand) {
		e.flow(share(p.Agents, p.Engines, i), lasts, rng)
	})
}

// flow wakes agents at random times.
func (e *engine) flow(agents int, lasts float64, rng *rand.Rand) {
	rate := float64(agents) / e.p.Period.Seconds()
	var next func()
	next = func() {
		e.wake()
		if d := rng.ExpFloat64() / rate; e.c.now+d < lasts {
			e.c.in(d, next)
		}
	}
	e.c.in(rng.ExpFloat64()/rate, next)
}

// storm lets a share of the agents wake at once, above those that wake anyway.
func (p Params) storm() Result {
	const lasts = 60
	return p.fleet("storm", lasts, func(e *engine, i int, rng *rand.Rand) {
		agents := share(p.Agents, p.Engines, i)
		e.flow(agents, lasts, rng)
		e.c.in(2, func() {
			for range int(float64(agents) * p.Storm) {
				e.wake()
			}
			for _, n := range e.nodes { // each has slept until this moment
				n.look()
			}
		})
	})
}

// region loses a third of the nodes and of the engines in the middle of steady work.
func (p Params) region() Result {
	const lasts, at = 300, 60
	return p.fleet("region lost", lasts, func(e *engine, i int, rng *rand.Rand) {
		e.flow(share(p.Agents, p.Engines, i), lasts, rng)
		e.c.in(at, func() {
			for k, n := range e.nodes {
				if k%3 == i%3 {
					n.lose()
				}
			}
			if i%3 == 0 {
				e.down = true
				e.c.in(p.Failover.Seconds(), func() {
					e.down = false
					e.serve()
				})
			}
		})
	})
}
