package client

import (
	"errors"
	"slices"

	"github.com/perdure/perdure"
)

// SeeDocs is the hint of a server to programs that asked wrongly. People who typed a command have its help.
const SeeDocs = "see /docs"

// Says begins a hint that is a server's: what it wants done is its word, and nobody else's.
const Says = "the server says: "

// Problem is an error as servers answer with it (RFC 9457). It is the error that a Client returns: errors.Is tells what
// sort it is, as for errors of this process, and errors.As finds a *perdure.Rejection in it.
type Problem struct {
	Type      string             `json:"type" doc:"urn:perdure:problem: and the kind"`
	Title     string             `json:"title"`
	Status    int                `json:"status"`
	Detail    string             `json:"detail" doc:"what went wrong"`
	Kind      string             `json:"kind" doc:"what sort of error it is: invalid, not-found, denied, rejected, conflict, …"`
	Hint      string             `json:"hint,omitempty" doc:"what to do about it"`
	Exit      int                `json:"exit" doc:"the exit code of a command that ends so"`
	Rejection *perdure.Rejection `json:"rejection,omitempty" doc:"which predicate refused which bytes"`
	Errors    []Fault            `json:"errors,omitempty" doc:"what is wrong with the request, field by field"`

	foreign bool // it is of a server that is somebody else's
}

// Fault is one thing that is wrong with a request.
type Fault struct {
	Message  string `json:"message"`
	Location string `json:"location,omitempty"`
}

func (p *Problem) Error() string { return p.Detail }

// ErrorKind is the kind, for those who classify errors.
func (p *Problem) ErrorKind() string { return p.Kind }

// sentinels are what each kind of error is in Go.
var sentinels = map[string][]error{
	"invalid":    {perdure.ErrInvalid},
	"not-found":  {perdure.ErrNotFound},
	"denied":     {perdure.ErrDenied},
	"rejected":   {perdure.ErrRejected},
	"conflict":   {perdure.ErrConflict},
	"moved":      {perdure.ErrMoved, perdure.ErrConflict},
	"terminated": {perdure.ErrTerminated},
}

// Is reports whether the problem is of a sort.
func (p *Problem) Is(target error) bool { return slices.Contains(sentinels[p.Kind], target) }

// As finds the rejection and the hint, which begins with Says if the server is somebody else's.
func (p *Problem) As(target any) bool {
	switch t := target.(type) {
	case **perdure.Rejection:
		if p.Rejection != nil {
			r := *p.Rejection
			if *t = &r; p.foreign && p.Hint == "" {
				r.Hint = "" // servers say it in the hint
			}
			return true
		}
	case **perdure.Hint:
		if p.Hint != "" && p.Hint != SeeDocs {
			*t = &perdure.Hint{Err: errors.New(p.Detail), Do: p.Hint}
			if p.foreign {
				(*t).Do = Says + p.Hint
			}
			return true
		}
	}
	return false
}
