// Package span has what a context holds of the trace that it is part of: package trace reads and writes it for users,
// and the runtime makes contexts that have it.
package span

import "context"

// Span is what a traceparent says: the trace, and the operation in it that comes before.
type Span struct {
	Trace [16]byte
	Op    [8]byte
}

// key is under which a context holds its Span.
type key struct{}

// Asked reports whether the key of a context's value asks for the Span it is part of: for contexts that make it when
// they are asked.
func Asked(by any) bool {
	_, ok := by.(key)
	return ok
}

// In is what ctx is part of, if it is part of a trace.
func In(ctx context.Context) (Span, bool) {
	s, ok := ctx.Value(key{}).(Span)
	return s, ok
}

// With is ctx as part of a trace.
func With(ctx context.Context, s Span) context.Context { return context.WithValue(ctx, key{}, s) }
