package home

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Request is what a program that talks to an agent wants, as one value of JSON: one of these, and a note with a vote.
type Request struct {
	Say       string `json:"say,omitempty"`
	Approve   string `json:"approve,omitempty"` // the beginning of a digest
	Deny      string `json:"deny,omitempty"`
	Note      string `json:"note,omitempty"`
	Go        bool   `json:"go,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"`
	Quit      bool   `json:"quit,omitempty"`
}

// ReadRequest reads a request, and refuses a value that is none.
func ReadRequest(line []byte) (r Request, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, perdure.Invalid(fmt.Errorf("the input is no value chat knows: %w", err))
	}
	return r, nil
}

// Input is what a request asks for where a conversation rests. To interrupt and to quit are for the caller.
func (r *Request) Input(at *Rest) (Input, error) {
	switch {
	case r.Go:
		return Input{}, nil
	case strings.TrimSpace(r.Say) != "":
		return Input{Say: r.Say}, nil
	case r.Approve == "" && r.Deny == "":
		return Input{}, perdure.Invalid(errors.New("want one of say, approve, deny, go, interrupt and quit"))
	}
	prefix := strings.ToLower(r.Approve + r.Deny)
	for i := range at.Waits {
		w := &at.Waits[i]
		if len(prefix) >= view.MinPrefix && w.Kind == view.WaitApproval &&
			strings.HasPrefix(w.Digest.String(), prefix) {
			return Input{Digest: w.Digest, Yes: r.Approve != "", Note: r.Note}, nil
		}
	}
	return Input{}, perdure.Missing("nothing with the digest " + prefix + " is asked for")
}

// ParseVote reads what a person answers who is asked about an action: y or n, with a note or none. A question denies,
// with the question as the note. What is neither is no vote.
func ParseVote(line string, digest perdure.Hash) (in Input, ok bool) {
	line = strings.TrimSpace(line)
	word, note, _ := strings.Cut(line, " ")
	in = Input{Digest: digest, Note: strings.TrimSpace(note)}
	switch strings.ToLower(strings.TrimRight(word, ",.:;")) {
	case "y", "yes":
		in.Yes = true
		return in, true
	case "n", "no":
		return in, true
	}
	in.Note = line
	return in, strings.HasSuffix(line, "?")
}

// Vote tells an agent what a person answered.
func Vote(ctx context.Context, n *perdure.Node, id perdure.AgentID, in Input) (*perdure.Entry, error) {
	if in.Yes {
		return n.Approve(ctx, id, in.Digest, 0, in.Note)
	}
	return n.Deny(ctx, id, in.Digest, in.Note)
}
