package main

import "container/heap"

// clock runs what is to happen, in the order of its time.
type clock struct {
	now    float64 // in seconds
	events events
	made   int64
}

type event struct {
	at float64
	no int64 // of two at the same time the one that was planned first comes first
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].no < e[j].no
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}

// in plans something.
func (c *clock) in(seconds float64, do func()) {
	c.made++
	heap.Push(&c.events, event{c.now + seconds, c.made, do})
}

// until runs everything that happens before a time.
func (c *clock) until(end float64) {
	for len(c.events) > 0 && c.events[0].at < end {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
	c.now = end
}
