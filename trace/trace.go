// Package trace says as part of what agents are created and told things: a trace of the W3C Trace Context
// recommendation, which everything that one cause began shares, in every agent and system it went through.
package trace

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/perdure/perdure/internal/entropy"
	"github.com/perdure/perdure/internal/span"
)

// ID is a W3C trace id: what was begun by one cause, in every agent and system it went through. All zero is none.
type ID [16]byte

// IsZero reports whether t is no trace id.
func (t ID) IsZero() bool { return t == ID{} }

// String is the id as 32 lower-case hex digits.
func (t ID) String() string { return hex.EncodeToString(t[:]) }

// MarshalText writes the id as String does.
func (t ID) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads 32 lower-case hex digits.
func (t *ID) UnmarshalText(b []byte) error {
	if !lowerHex(string(b), t[:]) {
		return fmt.Errorf("trace id %.40q: want 32 lower-case hex digits", b)
	}
	return nil
}

// New begins a trace. Where nothing random is to be had it is none: what is to be told matters more.
func New() (t ID) {
	if _, err := io.ReadFull(entropy.Reader, t[:]); err != nil {
		return ID{}
	}
	return t
}

// With is a context under which agents are created and told things as part of a trace: the one that a
// traceparent names, as the W3C Trace Context recommendation writes it. Without one, each begins a trace of its own.
func With(ctx context.Context, traceparent string) (context.Context, error) {
	c, ok := parse(traceparent)
	if !ok {
		return ctx, fmt.Errorf("traceparent %.80q: want 00-TRACE-SPAN-FLAGS, with 32, 16 and 2 lower-case hex "+
			"digits, not all zero", traceparent)
	}
	return span.With(ctx, c), nil
}

// Parent is the traceparent to send on with what is done under ctx; empty if it is part of no trace. A tool or an
// advisor finds that of the agent it works for there.
func Parent(ctx context.Context) string {
	c, ok := span.In(ctx)
	if !ok {
		return ""
	}
	return "00-" + ID(c.Trace).String() + "-" + hex.EncodeToString(c.Op[:]) + "-01"
}

// parse reads a traceparent of version 00, and of a later version what 00 has.
func parse(s string) (c span.Span, ok bool) {
	var version, flags [1]byte
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' || !lowerHex(s[:2], version[:]) ||
		version[0] == 0xff {
		return c, false
	}
	if len(s) > 55 && (version[0] == 0 || s[55] != '-') {
		return c, false
	}
	ok = lowerHex(s[3:35], c.Trace[:]) && lowerHex(s[36:52], c.Op[:]) && lowerHex(s[53:55], flags[:])
	return c, ok && !ID(c.Trace).IsZero() && c.Op != [8]byte{}
}

// lowerHex decodes lower-case hex digits that fill dst.
func lowerHex(s string, dst []byte) bool {
	if len(s) != 2*len(dst) || strings.ContainsAny(s, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(dst, []byte(s))
	return err == nil
}
