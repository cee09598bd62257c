package main

// engine is a database server.
type engine struct {
	c       *clock
	p       *Params
	busy    int
	line    []request
	down    bool
	agents  []agent // those that have ever been due; the others sleep
	due     []int   // those that are due, by when they were
	head    int     // of due: before it nobody is left
	nodes   []*node
	asks    int64 // requests
	useful  float64
	refused int64 // claims that came too late
	claimed int64
}

type request struct {
	takes float64
	then  func()
}

// agent is one that has been due.
type agent struct {
	at    float64 // when it was due
	holds *node   // nil: nobody has it
	done  bool
}

// ask has the engine do something that takes some time, when it is its turn.
func (e *engine) ask(takes float64, then func()) {
	e.asks++
	e.line = append(e.line, request{takes, then})
	e.serve()
}

func (e *engine) serve() {
	for !e.down && e.busy < e.p.Width && len(e.line) > 0 {
		r := e.line[0]
		e.line = e.line[1:]
		e.busy++
		e.useful += r.takes
		e.c.in(r.takes, func() {
			e.busy--
			r.then()
			e.serve()
		})
	}
}

// wake makes an agent due.
func (e *engine) wake() {
	e.agents = append(e.agents, agent{at: e.c.now})
	e.due = append(e.due, len(e.agents)-1)
}

// page is the next agents that are due, from a place on, and the place after them.
func (e *engine) page(from int) (of []int, next int) {
	for e.head < len(e.due) && e.agents[e.due[e.head]].taken() {
		e.head++
	}
	for next = max(from, e.head); next < len(e.due) && len(of) < e.p.Page; next++ {
		if a := e.due[next]; !e.agents[a].taken() {
			of = append(of, a)
		}
	}
	return of, next
}

func (a *agent) taken() bool { return a.holds != nil || a.done }

// again makes an agent due whose lease ended.
func (e *engine) again(i int) {
	e.agents[i].holds = nil
	e.due = append(e.due, i)
}
