package durable

import (
	"context"
	"fmt"
	"runtime"
	"strconv"

	"github.com/perdure/perdure"
)

// Run is one agent's function under way. It belongs to the goroutine of the function.
type Run struct {
	Agent perdure.AgentID

	node    *perdure.Node
	seen    map[string]int // occurrences of each name so far
	records *records
	begun   []*task       // steps begun by Go that have not been waited for
	ops     chan []op     // what the function wants done next
	answers chan []record // what came of it
	stop    chan struct{} // closed to end the goroutine
	waiting []op          // what the function waits for; one without a key when it has ended
}

// op is something the function wants done.
type op struct {
	key    string
	action perdure.Action
	body   func(ctx context.Context) (perdure.Result, error) // of a step
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

// do returns the record of an op, having it done first if there is none. What was begun before is waited for before that.
func (r *Run) do(o op) record {
	r.settle()
	return r.doAll([]op{o})[0]
}

// doAll returns the records of ops, having those done that have none, side by side.
func (r *Run) doAll(ops []op) []record {
	var todo []op
	for _, o := range ops {
		if _, ok := r.records.done[o.key]; !ok {
			todo = append(todo, o)
		}
	}
	if len(todo) > 0 {
		for i, rec := range r.ask(todo) {
			r.records.done[todo[i].key] = rec
		}
	}
	out := make([]record, len(ops))
	for i, o := range ops {
		out[i] = r.records.done[o.key]
	}
	return out
}

// ask has ops done. The goroutine ends here when nobody works on the agent any more.
func (r *Run) ask(ops []op) []record {
	select {
	case r.ops <- ops:
	case <-r.stop:
		runtime.Goexit()
	}
	select {
	case recs := <-r.answers:
		return recs
	case <-r.stop:
		runtime.Goexit()
	}
	panic("unreachable")
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
	r := &Run{
		Agent: id, node: f.node, seen: map[string]int{}, records: recs,
		ops: make(chan []op), answers: make(chan []record), stop: make(chan struct{}),
	}
	go func() {
		end := perdure.End{Signal: perdure.Failed, Note: "the function ended its goroutine"}
		defer func() {
			if p := recover(); p != nil {
				end = perdure.End{Signal: perdure.Failed, Note: fmt.Sprintf("panic: %v", p)}
			}
			select {
			case r.ops <- []op{{action: end}}:
			case <-r.stop:
			}
		}()
		out, err := f.body(r, inputs)
		r.settle() // what was begun is done, whether anybody waits for it or not
		end = perdure.End{Signal: perdure.OK, Result: out}
		if err != nil {
			end = perdure.End{Signal: perdure.Failed, Note: err.Error()}
		}
	}()
	r.waiting = <-r.ops
	return r
}

// answer lets the function go on to what it wants next.
func (r *Run) answer(recs []record) {
	r.answers <- recs
	r.waiting = <-r.ops
}

// ended reports whether the function has returned.
func (r *Run) ended() bool { return r.waiting[0].key == "" }

// find is the op of this key that the function waits for.
func (r *Run) find(key string) *op {
	for i := range r.waiting {
		if r.waiting[i].key == key && r.waiting[i].body != nil {
			return &r.waiting[i]
		}
	}
	return nil
}

// end ends the goroutine of the function.
func (r *Run) end() { close(r.stop) }
