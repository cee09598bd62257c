package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// votes adds how people answer what policy asks about. Votes count per key: with the token of a person the server signs
// with the key that the token unlocks; otherwise the person signs, and the server only stores.
func (s *Server) votes() {
	errs := []int{http.StatusConflict, http.StatusPreconditionFailed}
	vote := func(word string, approve bool, summary string) {
		op := post("/v1/agents/{agent}/"+word, word+"-action", "tell", summary)
		op.Errors = errs
		op.Description = "Signed with the key of the person whose token it is. Answers 409 with who was first if it " +
			"was decided already; an answer that comes again changes nothing."
		operation(s, op, home.VerbApprove, func(ctx context.Context, v *home.Visitor, in *struct {
			Named
			Writing
			Body *client.Ballot
		}) (*wrote[client.Told], error) {
			var ballot client.Ballot
			if in.Body != nil {
				ballot = *in.Body
			}
			b, err := ballotOf(&ballot, approve)
			if err != nil {
				return nil, err
			}
			return writes[client.Told](
				ctx,
				s,
				v,
				&in.Writing,
				word,
				in.Agent,
				ballot,
				func(ctx context.Context) (any, error) {
					t, _, err := s.Desk.Vote(ctx, v, in.Agent, b)
					return s.said(t, err)
				},
			)
		})
	}
	vote("approve", true, "Approve exactly one action that policy asks about, once")
	vote("deny", false, "Deny an action that policy asks about")

	op := post("/v1/agents/{agent}/votes/prepare", "prepare-vote", "tell",
		"Get an answer to sign with a key of your own")
	op.Errors = errs
	operation(s, op, home.VerbApprove, s.prepare)
	op = post("/v1/agents/{agent}/votes", "take-vote", "tell", "Store an answer that somebody signed")
	op.Errors = append(errs, http.StatusUnprocessableEntity)
	operation(s, op, home.VerbApprove, s.take)
	op = post("/v1/agents/{agent}/links", "make-link", "tell", "Make a link by which you can answer one question once")
	op.Errors = errs
	operation(s, op, home.VerbApprove, s.link)
}

// ballotOf reads an answer.
func ballotOf(in *client.Ballot, approve bool) (b home.Ballot, err error) {
	b = home.Ballot{Approve: approve, Digest: in.Digest, Note: in.Note}
	if b.Expires, err = home.ParseDeadline(in.Expires, time.Now()); err != nil {
		err = perdure.Invalid(fmt.Errorf("expires: %w", err))
	}
	return b, err
}

func (s *Server) prepare(
	ctx context.Context,
	v *home.Visitor,
	in *telling[client.ToSign],
) (*reply[client.Unsigned], error) {
	by, _, err := perdure.ParseKey(in.Body.Key)
	if err != nil {
		return nil, perdure.Invalid(fmt.Errorf("key: %w", err))
	}
	b, err := ballotOf(&in.Body.Ballot, in.Body.Approve)
	if err != nil {
		return nil, err
	}
	entries, about, err := s.Desk.Prepare(ctx, v, in.Agent, by, in.Body.Name, b)
	if err != nil {
		return nil, err
	}
	proof, err := s.Desk.Evidence(ctx, entries[0].ID(), about.Decision)
	if err != nil {
		return nil, err
	}
	out := struct {
		Agent    perdure.AgentID `json:"agent"`
		Digest   perdure.Hash    `json:"digest"`
		Entries  [][]byte        `json:"entries"`
		About    *wait           `json:"about,omitempty"`
		Evidence [][]byte        `json:"evidence"`
	}{Agent: entries[0].ID(), Digest: about.Digest, About: waitOf(about, time.Now())}
	if out.Entries, err = binary(entries); err != nil {
		return nil, err
	}
	if out.Evidence, err = binary(proof); err != nil {
		return nil, err
	}
	return replied[client.Unsigned](out, nil)
}

func (s *Server) take(ctx context.Context, v *home.Visitor, in *telling[client.Signed]) (*wrote[client.Told], error) {
	var entries []*perdure.Entry
	for _, b := range in.Body.Entries {
		e, err := perdure.DecodeEntry(b, perdure.Limits{Bytes: perdure.MaxBody})
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return writes[client.Told](
		ctx,
		s,
		v,
		&in.Writing,
		"vote",
		in.Agent,
		in.Body,
		func(ctx context.Context) (any, error) {
			t, _, err := s.Desk.Take(ctx, v, in.Agent, entries)
			return s.said(t, err)
		},
	)
}

func (s *Server) link(ctx context.Context, v *home.Visitor, in *telling[client.NewLink]) (*reply[client.Link], error) {
	var until time.Time
	if in.Body.Expires != "" {
		t, err := home.ParseDeadline(in.Body.Expires, time.Now())
		if err != nil {
			return nil, perdure.Invalid(fmt.Errorf("expires: %w", err))
		}
		until = t.Go()
	}
	text, t, err := s.Desk.NewLink(ctx, v, in.Agent, in.Body.Digest, until)
	if err != nil {
		return nil, err
	}
	return replied[client.Link](
		client.Link{
			Link:    s.url(ctx) + "/approve#" + text,
			Agent:   t.Link.Agent,
			Digest:  t.Link.Digest,
			Expires: t.Expires.String(),
		},
		nil,
	)
}

// binary is entries in binary form.
func binary(entries []*perdure.Entry) (all [][]byte, err error) {
	for _, e := range entries {
		b, err := e.MarshalBinary()
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}
