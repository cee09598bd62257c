package durable

import (
	"bytes"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"

	"github.com/perdure/perdure"
)

// Run is one agent's function under way. It belongs to the goroutine of the function.
//
// The function is a coroutine of whoever works on its agent: it goes on when that asks for advice, and waits when it
// wants something done. A switch costs next to nothing; two goroutines that wake each other cost more than all else
// durable adds to a step.
type Run struct {
	Agent perdure.AgentID

	node    *perdure.Node
	seen    map[string]int // occurrences of each name so far
	records *records
	begun   []*task // steps begun by Go that have not been waited for

	next     func() ([]op, bool) // lets the function go on to what it wants next
	stop     func()              // lets it end where it waits
	yield    func([]op) bool     // is how it waits
	answered []record            // what came of what it waited for
	waiting  []op                // what it waits for; one without a key when it has ended
}

// op is something the function wants done.
type op struct {
	key    string
	action perdure.Action
	step   *task // of a step
}

// record is what came of an op.
type record struct {
	signal perdure.Signal
	data   perdure.Data
	note   string
	event  bool // data is that of an event
	child  perdure.AgentID
	denied error
}

// key names an occurrence of a step.
func (r *Run) key(name string) string {
	n := r.seen[name]
	r.seen[name]++
	return name + "#" + strconv.Itoa(n)
}

// do returns the record of an op, having it done first if there is none. What was begun before is waited for before
// that.
func (r *Run) do(o op) record {
	r.settle()
	return r.doAll([]op{o})[0]
}

// doAll returns the records of ops, having those done that have none, side by side. A record is taken once: no other op
// has its key.
func (r *Run) doAll(ops []op) []record {
	if !slices.ContainsFunc(ops, func(o op) bool { _, ok := r.records.done[o.key]; return ok }) {
		return r.ask(ops)
	}
	out := make([]record, len(ops))
	var todo []op
	for i := range ops {
		rec, ok := r.records.done[ops[i].key]
		if !ok {
			todo = append(todo, ops[i])
			continue
		}
		delete(r.records.done, ops[i].key)
		out[i] = rec
	}
	if len(todo) == 0 {
		return out
	}
	came := r.ask(todo)
	for i, n := 0, 0; n < len(todo); i++ {
		if ops[i].key == todo[n].key {
			out[i], n = came[n], n+1
		}
	}
	return out
}

// ask has ops done. The function ends here when nobody works on the agent any more.
func (r *Run) ask(ops []op) []record {
	if !r.yield(ops) {
		runtime.Goexit()
	}
	return r.answered
}

// child is how a child ended.
func (r *Run) child(id perdure.AgentID) record {
	if rec, ok := r.records.ended[id]; ok {
		return rec
	}
	return record{signal: perdure.Failed, note: "its end is not in this memory"}
}

// begin starts the function from its beginning and lets it run up to the first op without a record.
func (f *flow) begin(id perdure.AgentID, inputs perdure.Data, recs *records) *Run {
	r := &Run{Agent: id, node: f.node, seen: map[string]int{}, records: recs}
	r.next, r.stop = iter.Pull(func(yield func([]op) bool) {
		r.yield = yield
		end := perdure.End{Signal: perdure.Failed, Note: "the function ended its goroutine"}
		defer func() {
			if p := recover(); p != nil {
				end = perdure.End{Signal: perdure.Failed, Note: fmt.Sprintf("panic: %v", p)}
			}
			yield([]op{{action: end}})
		}()
		out, err := f.body(r, inputs)
		r.settle() // what was begun is done, whether anybody waits for it or not
		end = perdure.End{Signal: perdure.OK, Result: out}
		if err != nil {
			end = perdure.End{Signal: perdure.Failed, Note: err.Error()}
		}
	})
	r.waiting, _ = r.next()
	return r
}

// answer lets the function go on to what it wants next.
func (r *Run) answer(recs []record) {
	r.answered = recs
	r.waiting, _ = r.next()
}

// ended reports whether the function has returned.
func (r *Run) ended() bool { return r.waiting[0].key == "" }

// find is the step with these arguments that the function waits for.
func (r *Run) find(args perdure.Data) *op {
	for i := range r.waiting {
		o := &r.waiting[i]
		if x, ok := o.action.(perdure.Execute); ok && o.step != nil && bytes.Equal(x.Args, args) {
			return o
		}
	}
	return nil
}

// end ends the function. What it defers may take its time, and ends the goroutine that waits for it.
func (r *Run) end() { go r.stop() }
