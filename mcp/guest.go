package mcp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// guest is the name under which a visitor goes along with a request.
const guest = "visitor"

// known lets on whom a gate let in. A call of a tool does not have the context of its request, and a session outlives
// the request that began it: the library carries along only what it takes for the token of the request, and refuses a
// session to everybody else.
func (s *Server) known(next http.Handler) http.Handler {
	if !s.Guests {
		return next
	}
	carry := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		v := home.VisitorIn(ctx)
		if v == nil {
			return nil, auth.ErrInvalidToken
		}
		now := func() (*home.Visitor, error) { return home.VisitorNow(ctx) }
		return &auth.TokenInfo{UserID: v.ID(), Extra: map[string]any{guest: now}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer visitor") // the gate has read what it was, and nobody else need
		carry.ServeHTTP(w, r)
	})
}

// visitor is whom a request is of, as they are now.
func (s *Server) visitor(x *sdk.RequestExtra) (*home.Visitor, error) {
	if !s.Guests {
		return s.Desk.Host()
	}
	if x != nil && x.TokenInfo != nil {
		if now, ok := x.TokenInfo.Extra[guest].(func() (*home.Visitor, error)); ok {
			return now()
		}
	}
	return nil, fmt.Errorf("%w: the request came by no gate", home.ErrUnknown)
}

// verbs are what the verb mcp stands for. What takes a person has verbs of its own.
var verbs = []string{home.VerbRead, home.VerbCreate, home.VerbEvent, home.VerbPause, home.VerbEnd}

// speaker is a client's model: it speaks for a visitor, and not as them.
func (s *Server) speaker(req *sdk.CallToolRequest) (*home.Visitor, error) {
	v, err := s.visitor(req.Extra)
	if err != nil {
		return nil, err
	}
	return v.Through(s.client(req), verbs...), nil
}

// tells has a client tell an agent something that the client has found.
func (s *Server) tells(
	ctx context.Context, req *sdk.CallToolRequest, a *perdure.Agent, ev perdure.Event,
) (*told, error) {
	v, err := s.speaker(req)
	if err != nil {
		return nil, err
	}
	e, before, err := s.Desk.Event(ctx, v, a.ID().String(), ev)
	if err != nil {
		return nil, err
	}
	out := s.report(ctx, a.ID(), e)
	out.Before = before
	return out, nil
}
