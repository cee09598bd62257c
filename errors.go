package perdure

import (
	"errors"

	"github.com/perdure/perdure/internal/canon"
)

var (
	// ErrNotFound says that the store has no such agent or entry.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the heads were no longer the heads: another node was first, and nothing was added.
	ErrConflict = errors.New("conflict: another node appended first")
	// ErrMoved says that an agent has gone on from the heads that WithHeads names; nothing was added. It is also an
	// ErrConflict.
	ErrMoved error = movedErr{}
	// ErrTerminated says that the agent has ended and takes no new decisions.
	ErrTerminated = errors.New("agent has ended")
	// ErrDenied says that whoever asked has no right to it; nothing was changed.
	ErrDenied = errors.New("denied")
	// ErrFull says that the agent has not seen so much of what it was told that there is no room for more: nothing was
	// written. Tell it again once it has run.
	ErrFull = errors.New("its inbox is full")
	// ErrIncapable says that this node cannot do what the agent needs next; another may.
	ErrIncapable = errors.New("this node cannot do it")
	// ErrInDoubt is what a tool's error wraps when nobody can know whether the effect happened: the call was sent, and
	// no answer came.
	ErrInDoubt = errors.New("in doubt: it is not known whether it happened")
	// ErrBehind says that an entry belongs before what this Agent still holds: fold the memory again from the store.
	ErrBehind = errors.New("entry belongs before the fold's window: fold the memory again")
	// ErrInvalid says that what was asked for makes no sense as it was written: correct it and ask again.
	ErrInvalid = errors.New("invalid")
	// ErrRejected is what every *Rejection wraps.
	ErrRejected = canon.ErrRejected
)

// Rejection is a refusal of bytes: which predicate refused them, where, what was found, and what to do. Predicates are
// listed in spec/predicates.md and are stable.
type Rejection = canon.Rejection

// reject builds the refusal of entry e by predicate p.
func reject(p canon.Predicate, e *Entry, path, got, want, hint string) *Rejection {
	r := &Rejection{Phase: p.Phase, Predicate: p.Name, Path: path, Got: got, Want: want, Hint: hint}
	if e != nil {
		r.Entry = e.Name.String()
	}
	return r
}

// Invalid is err as one that wraps ErrInvalid, in its own words.
func Invalid(err error) error {
	if err == nil || errors.Is(err, ErrInvalid) {
		return err
	}
	return invalid{err}
}

// Unable is err as one that wraps ErrIncapable, in its own words.
func Unable(err error) error { return unable{err} }

type unable struct{ error }

func (u unable) Unwrap() []error { return []error{u.error, ErrIncapable} }

type invalid struct{ error }

func (i invalid) Unwrap() []error { return []error{i.error, ErrInvalid} }

// Missing is ErrNotFound in its own words: it says what is not there.
type Missing string

func (m Missing) Error() string        { return string(m) }
func (m Missing) Is(target error) bool { return target == ErrNotFound }

// Hint is an error that says what to do about it.
type Hint struct {
	Err error
	Do  string
}

func (h *Hint) Error() string { return h.Err.Error() }
func (h *Hint) Unwrap() error { return h.Err }

// WithHint is err with what to do about it.
func WithHint(err error, do string) error { return &Hint{err, do} }
