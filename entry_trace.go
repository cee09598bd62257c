package perdure

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/perdure/perdure/internal/entropy"
)

// TraceID is a W3C trace id: what was begun by one cause, in every agent and system it went through. All zero is none.
type TraceID [16]byte

// IsZero reports whether t is no trace id.
func (t TraceID) IsZero() bool { return t == TraceID{} }

// String is the id as 32 lower-case hex digits.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// MarshalText writes the id as String does.
func (t TraceID) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads 32 lower-case hex digits.
func (t *TraceID) UnmarshalText(b []byte) error {
	if !lowerHex(string(b), t[:]) {
		return fmt.Errorf("trace id %.40q: want 32 lower-case hex digits", b)
	}
	return nil
}

// spanContext is what a traceparent says: the trace, and the operation in it that comes before.
type spanContext struct {
	trace TraceID
	span  [8]byte
}

type traceKey struct{}

// WithTraceparent is a context under which agents are created and told things as part of a trace: the one that a
// traceparent names, as the W3C Trace Context recommendation writes it. Without one, each begins a trace of its own.
func WithTraceparent(ctx context.Context, traceparent string) (context.Context, error) {
	c, ok := parseTraceparent(traceparent)
	if !ok {
		return ctx, fmt.Errorf("traceparent %.80q: want 00-TRACE-SPAN-FLAGS, with 32, 16 and 2 lower-case hex "+
			"digits, not all zero", traceparent)
	}
	return context.WithValue(ctx, traceKey{}, c), nil
}

// Traceparent is the traceparent to send on with what is done under ctx; empty if it is part of no trace. A tool or an
// advisor finds that of the agent it works for there.
func Traceparent(ctx context.Context) string {
	c, ok := ctx.Value(traceKey{}).(spanContext)
	if !ok {
		return ""
	}
	return "00-" + c.trace.String() + "-" + hex.EncodeToString(c.span[:]) + "-01"
}

// parseTraceparent reads a traceparent of version 00, and of a later version what 00 has.
func parseTraceparent(s string) (c spanContext, ok bool) {
	var version, flags [1]byte
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' || !lowerHex(s[:2], version[:]) ||
		version[0] == 0xff {
		return c, false
	}
	if len(s) > 55 && (version[0] == 0 || s[55] != '-') {
		return c, false
	}
	ok = lowerHex(s[3:35], c.trace[:]) && lowerHex(s[36:52], c.span[:]) && lowerHex(s[53:55], flags[:])
	return c, ok && !c.trace.IsZero() && c.span != [8]byte{}
}

// lowerHex decodes lower-case hex digits that fill dst.
func lowerHex(s string, dst []byte) bool {
	if len(s) != 2*len(dst) || strings.ContainsAny(s, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(dst, []byte(s))
	return err == nil
}

// traced is ctx for what is done as part of a trace, on account of an entry.
func traced(ctx context.Context, t TraceID, cause Hash) context.Context {
	if t.IsZero() {
		return ctx
	}
	return &tracedContext{ctx, spanOf(t, cause)}
}

// spanOf is what is done as part of a trace on account of an entry; zero without a trace.
func spanOf(t TraceID, cause Hash) (c spanContext) {
	if !t.IsZero() {
		c.trace = t
		copy(c.span[:], cause[:])
	}
	return c
}

// traceIn is the trace that ctx is part of, or a new one. Whoever calls chooses the id, which is recorded and sent on:
// one that the guard keeps out of memory, as it holds a secret, is not taken over.
func (n *Node) traceIn(ctx context.Context) TraceID {
	c, ok := ctx.Value(traceKey{}).(spanContext)
	if !ok {
		return newTrace()
	}
	if n.Guard == nil {
		return c.trace
	}
	if err := n.Guard.Check([]byte(c.trace.String())); err != nil {
		n.Log.Warn("the trace id is not used: " + err.Error())
		return newTrace()
	}
	return c.trace
}

// newTrace begins a trace. Where nothing random is to be had it is none: what is to be told matters more.
func newTrace() (t TraceID) {
	if _, err := io.ReadFull(entropy.Reader, t[:]); err != nil {
		return TraceID{}
	}
	return t
}

// trace is the trace an entry to be written belongs to: an outcome to that of its decision, a wake to that of the event
// that woke the agent, and everything else to what the agent was told last.
func (a *Agent) trace(d *Draft) TraceID {
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
func (a *Agent) traceOf(name Hash) TraceID {
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
