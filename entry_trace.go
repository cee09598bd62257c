package perdure

import (
	"context"

	"github.com/perdure/perdure/internal/span"
	"github.com/perdure/perdure/trace"
)

// traced is ctx for what is done as part of a trace, on account of an entry.
func traced(ctx context.Context, t trace.ID, cause Hash) context.Context {
	if t.IsZero() {
		return ctx
	}
	return &tracedContext{ctx, spanOf(t, cause)}
}

// spanOf is what is done as part of a trace on account of an entry; zero without a trace.
func spanOf(t trace.ID, cause Hash) (c span.Span) {
	if !t.IsZero() {
		c.Trace = t
		copy(c.Op[:], cause[:])
	}
	return c
}

// traceIn is the trace that ctx is part of, or a new one. Whoever calls chooses the id, which is recorded and sent on:
// one that the guard keeps out of memory, as it holds a secret, is not taken over.
func (n *Node) traceIn(ctx context.Context) trace.ID {
	c, ok := span.In(ctx)
	if !ok {
		return trace.New()
	}
	id := trace.ID(c.Trace)
	if n.Guard == nil {
		return id
	}
	if err := n.Guard.Check([]byte(id.String())); err != nil {
		n.Log.Warn("the trace id is not used: " + err.Error())
		return trace.New()
	}
	return id
}

// trace is the trace an entry to be written belongs to: an outcome to that of its decision, a wake to that of the event
// that woke the agent, and everything else to what the agent was told last.
func (a *Agent) trace(d *Draft) trace.ID {
	var cause Hash
	switch b := d.Body.(type) {
	case Outcome:
		cause = b.Decision
	case Decision:
		if w, ok := b.Action.(Wake); ok && len(w.By) > 0 {
			cause = w.By[0]
		}
	}
	if !d.Trace.IsZero() {
		return d.Trace
	}
	if cause.IsZero() || a.fold.Trace.IsZero() {
		return a.fold.Trace
	}
	return a.traceOf(cause)
}

// traceOf is the trace of an entry, or the present one where the entry is no longer held.
func (a *Agent) traceOf(name Hash) trace.ID {
	if e := a.recent(name); e != nil && !e.Trace.IsZero() {
		return e.Trace
	}
	return a.fold.Trace
}

// follow makes the trace of an entry the present one, if it is of one: of a genesis, an event, a wake.
func (f *Fold) follow(e *Entry) {
	if !e.Trace.IsZero() {
		f.Trace = e.Trace
	}
}
