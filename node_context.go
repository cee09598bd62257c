package perdure

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/span"
	"github.com/perdure/perdure/trace"
)

// callContext is the context of a call under way: part of a trace, and over when the node gives the call up, when it is
// cut off, or at a deadline. What a context costs, such as a timer and a channel, it costs only where somebody looks at
// it: most steps never do.
type callContext struct {
	node     context.Context // ends when the node gives the call up
	deadline time.Time       // zero: none
	span     span.Span       // zero: part of the trace of node, if that is of one

	mu    sync.Mutex
	made  context.Context // what stands for it once somebody has looked
	cut   context.CancelCauseFunc
	end   context.CancelFunc
	over  bool
	cause error // why it is over, if nobody looked before
}

// newCall is the context of a call until ctx ends.
func newCall(ctx context.Context) *callContext { return &callContext{node: ctx} }

// trace makes the call part of a trace, on account of an entry. It is called before anybody looks.
func (c *callContext) trace(t trace.ID, cause Hash) { c.span = spanOf(t, cause) }

// cancel ends the call for a reason; the first one counts.
func (c *callContext) cancel(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over, c.cause = true, cause
	if c.made != nil {
		c.cut(cause)
		c.end()
	}
}

// looked is the context that stands for it.
func (c *callContext) looked() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil {
		return c.made
	}
	node := c.node
	if c.over {
		node = context.WithoutCancel(node) // what came first is why it is over
	}
	c.made, c.cut = context.WithCancelCause(node)
	c.end = func() {}
	if c.over {
		c.cut(c.cause)
	} else if !c.deadline.IsZero() {
		c.made, c.end = context.WithDeadlineCause(c.made, c.deadline, errLate)
	}
	return c.made
}

func (c *callContext) Done() <-chan struct{} { return c.looked().Done() }

func (c *callContext) Err() error { return c.looked().Err() }

// Deadline is that of the call or of the node, whichever comes first.
func (c *callContext) Deadline() (time.Time, bool) {
	if d, ok := c.node.Deadline(); ok && (c.deadline.IsZero() || d.Before(c.deadline)) {
		return d, true
	}
	return c.deadline, !c.deadline.IsZero()
}

func (c *callContext) Value(key any) any {
	if c.span != (span.Span{}) && span.Asked(key) {
		return c.span
	}
	return c.looked().Value(key) // package context asks it for what to cancel with it
}

// tracedContext is a context that is part of a trace.
type tracedContext struct {
	context.Context
	span span.Span
}

func (c *tracedContext) Value(key any) any {
	if span.Asked(key) {
		return c.span
	}
	return c.Context.Value(key)
}
