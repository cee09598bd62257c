package home

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/perdure/perdure"
)

// Kind is what sort of error something is. It is the one list of them: the command line makes exit codes of it, servers
// statuses.
type Kind int

// The kinds. Their names are API.
const (
	KindNone         Kind = iota // nothing went wrong
	KindFailure                  // it could not be done
	KindInvalid                  // what was asked for makes no sense as it was written
	KindUnknown                  // who asks is not known here
	KindDenied                   // who asks may not
	KindNotFound                 // there is no such thing
	KindRejected                 // bytes were refused, by a predicate
	KindConflict                 // somebody was first
	KindMoved                    // the agent has gone on since it was looked at
	KindTerminated               // the agent has ended
	KindWaiting                  // a person must act first
	KindUnwell                   // the agent ended with a result other than ok
	KindTooLarge                 // more was sent than is taken
	KindTooMany                  // too much was asked at once
	KindUnavailable              // not now: it is stopping, or gave up waiting
	KindInterrupted              // whoever asked has left
	KindMisuse                   // an Idempotency-Key was used for something else
	KindOtherContent             // of a type that is not taken
	KindGuarded                  // it holds what must not enter a memory
)

// kinds say what becomes of each. Exit codes are API: scripts compare with them. Do NOT renumber.
var kinds = map[Kind]struct {
	name         string
	exit, status int
}{
	KindNone:         {"", 0, http.StatusOK},
	KindFailure:      {"failure", 1, http.StatusInternalServerError},
	KindInvalid:      {"invalid", 2, http.StatusBadRequest},
	KindUnknown:      {"unauthenticated", 4, http.StatusUnauthorized},
	KindDenied:       {"denied", 4, http.StatusForbidden},
	KindNotFound:     {"not-found", 3, http.StatusNotFound},
	KindRejected:     {"rejected", 5, http.StatusUnprocessableEntity},
	KindConflict:     {"conflict", 6, http.StatusConflict},
	KindMoved:        {"moved", 6, http.StatusPreconditionFailed},
	KindTerminated:   {"terminated", 1, http.StatusConflict},
	KindWaiting:      {"waiting", 7, http.StatusConflict},
	KindUnwell:       {"unwell", 8, http.StatusConflict},
	KindTooLarge:     {"too-large", 1, http.StatusRequestEntityTooLarge},
	KindTooMany:      {"too-many", 1, http.StatusTooManyRequests},
	KindUnavailable:  {"unavailable", 1, http.StatusServiceUnavailable},
	KindInterrupted:  {"interrupted", 130, http.StatusServiceUnavailable},
	KindMisuse:       {"misuse", 1, http.StatusUnprocessableEntity},
	KindOtherContent: {"other-content", 2, http.StatusUnsupportedMediaType},
	KindGuarded:      {"guarded", 1, http.StatusUnprocessableEntity},
}

// String is the kind's name.
func (k Kind) String() string { return kinds[k].name }

// Exit is the exit code of a command that ended so.
func (k Kind) Exit() int { return kinds[k].exit }

// Status is the HTTP status of a request that ended so.
func (k Kind) Status() int { return kinds[k].status }

var (
	// errPerson says that a person must act before the agent goes on.
	errPerson = errors.New("is waiting for a person")
	// ErrUnwell says that an agent has ended with another signal than ok.
	ErrUnwell = errors.New("has not ended with ok")
	// ErrUnknown says that whoever asks has not said who they are, or nobody knows them.
	ErrUnknown = errors.New("the caller is not known here")
)

// Error is an error of a kind that no sentinel stands for.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the one place where errors are told apart.
func KindOf(err error) Kind {
	var own *Error
	var theirs interface{ ErrorKind() string } // another process classified it
	switch {
	case err == nil:
		return KindNone
	case errors.As(err, &own):
		return own.Kind
	case errors.As(err, &theirs):
		return KindNamed(theirs.ErrorKind())
	case errors.Is(err, perdure.ErrInvalid):
		return KindInvalid
	case errors.Is(err, context.Canceled):
		return KindInterrupted
	case errors.Is(err, perdure.ErrRejected):
		return KindRejected
	case errors.Is(err, ErrUnknown):
		return KindUnknown
	case errors.Is(err, perdure.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return KindNotFound
	case errors.Is(err, perdure.ErrMoved):
		return KindMoved
	case errors.Is(err, perdure.ErrConflict):
		return KindConflict
	case errors.Is(err, perdure.ErrDenied):
		return KindDenied
	case errors.Is(err, perdure.ErrFull):
		return KindTooMany
	case errors.Is(err, errPerson):
		return KindWaiting
	case errors.Is(err, ErrUnwell):
		return KindUnwell
	case errors.Is(err, perdure.ErrTerminated):
		return KindTerminated
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, fs.ErrClosed):
		return KindUnavailable
	}
	return KindFailure
}

// KindNamed is the kind of a name, as somebody else classified an error.
func KindNamed(name string) Kind {
	for k, x := range kinds {
		if x.name == name {
			return k
		}
	}
	return KindFailure
}
