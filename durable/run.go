package durable

import (
	"context"
	"fmt"
	"runtime"

	"github.com/perdure/perdure"
)

// Run is one agent's function under way. It belongs to the goroutine of the function.
type Run struct {
	Agent perdure.AgentID

	node    *perdure.Node
	seen    map[string]int // occurrences of each name so far
	records *records
	ops     chan op       // what the function wants done next
	answers chan record   // what came of it
	stop    chan struct{} // closed to end the goroutine
	waiting op            // the op the function waits for; its key is empty when it has ended
}

// op is something the function wants done.
type op struct {
	key    string
	action perdure.Action
	body   func(ctx context.Context) (perdure.Data, error) // of a step
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
	return fmt.Sprintf("%s#%d", name, n)
}

// do returns the record of an op, having it done first if there is none.
func (r *Run) do(key string, action perdure.Action, body func(ctx context.Context) (perdure.Data, error)) record {
	if rec, ok := r.records.done[key]; ok {
		return rec
	}
	select {
	case r.ops <- op{key: key, action: action, body: body}:
	case <-r.stop:
		runtime.Goexit()
	}
	select {
	case rec := <-r.answers:
		r.records.done[key] = rec
		return rec
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
	r := &Run{Agent: id, node: f.node, seen: map[string]int{}, records: recs, ops: make(chan op), answers: make(chan record), stop: make(chan struct{})}
	go func() {
		end := perdure.End{Signal: perdure.Failed, Note: "the function ended its goroutine"}
		defer func() {
			if p := recover(); p != nil {
				end = perdure.End{Signal: perdure.Failed, Note: fmt.Sprintf("panic: %v", p)}
			}
			select {
			case r.ops <- op{action: end}:
			case <-r.stop:
			}
		}()
		out, err := f.body(r, inputs)
		end = perdure.End{Signal: perdure.OK, Result: out}
		if err != nil {
			end = perdure.End{Signal: perdure.Failed, Note: err.Error()}
		}
	}()
	r.waiting = <-r.ops
	return r
}

// answer lets the function go on to its next op.
func (r *Run) answer(rec record) {
	r.answers <- rec
	r.waiting = <-r.ops
}

// end ends the goroutine of the function.
func (r *Run) end() { close(r.stop) }
