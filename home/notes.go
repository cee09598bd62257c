package home

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// noted is what whoever made a request should know beside its answer.
type noted struct {
	mu    sync.Mutex
	texts []string
}

type notesKey struct{}

// WithNotes is a context of one request of somebody elsewhere: what they should know is kept for its answer, in the
// place of being told to Home.Note. See NotesIn.
func WithNotes(ctx context.Context) context.Context {
	return context.WithValue(ctx, notesKey{}, new(noted))
}

// NotesIn is what was noted for the request of a context, in order.
func NotesIn(ctx context.Context) []string {
	kept, _ := ctx.Value(notesKey{}).(*noted)
	if kept == nil {
		return nil
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	return slices.Clone(kept.texts)
}

// away reports whether what is noted goes to somebody elsewhere.
func away(ctx context.Context) bool { return ctx.Value(notesKey{}) != nil }

// noteFault tells whoever asks that something went wrong which undoes nothing of what they asked for. Why is for note:
// errors name files and addresses.
func (h *Home) noteFault(ctx context.Context, fact string, err error) {
	if away(ctx) {
		h.noteFor(ctx, "%s", fact)
	}
	h.note("%s: %v", fact, err)
}

// noteFor tells whoever asks something: in the answer to their request, if it is one, else as note does. What only
// somebody at home may know is for note.
func (h *Home) noteFor(ctx context.Context, format string, args ...any) {
	kept, _ := ctx.Value(notesKey{}).(*noted)
	if kept == nil {
		h.note(format, args...)
		return
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	kept.texts = append(kept.texts, fmt.Sprintf(format, args...))
}
