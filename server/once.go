package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/trace"
)

// Writing is what every request has that changes something.
type Writing struct {
	Key   string `header:"Idempotency-Key" maxLength:"255" doc:"a key of your own: a second request with it is answered as the first was, and changes nothing"`
	Match string `header:"If-Match" doc:"the ETag of the agent as you saw it: it is told nothing if it has gone on since"`
	Trace string `header:"traceparent" doc:"the W3C trace that what the agent does because of this belongs to"`
}

// wrote is the answer to one.
type wrote[T any] struct {
	Replayed string   `header:"Idempotency-Replayed" doc:"true: the answer is that of an earlier request"`
	Body     plain[T] `json:"body"`
}

// etag names the heads of an agent.
func etag(heads []perdure.Hash) string {
	sum := sha256.New()
	for _, h := range heads {
		_, _ = sum.Write(h[:]) // a hash takes everything
	}
	return `"` + hex.EncodeToString(sum.Sum(nil))[:32] + `"`
}

// matches reports whether a list of ETags has one, or is *. A weak one (W/) is another.
func matches(list, tag string) bool {
	if strings.TrimSpace(list) == "*" {
		return true
	}
	return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool { return strings.TrimSpace(one) == tag })
}

// writes does something to an agent, once for each Idempotency-Key, and only while the agent is as If-Match says.
func writes[T any](
	ctx context.Context,
	s *Server,
	v *home.Visitor,
	w *Writing,
	what, arg string,
	body any,
	do func(ctx context.Context) (any, error),
) (*wrote[T], error) {
	var err error
	if w.Trace != "" {
		if ctx, err = trace.With(ctx, w.Trace); err != nil {
			return nil, perdure.Invalid(fmt.Errorf("traceparent: %w", err))
		}
	}
	ctx = home.WithNotes(ctx)
	if w.Match != "" && arg != "" { // not for what was done before: that is only answered again
		then := do
		do = func(ctx context.Context) (any, error) {
			heads, err := s.match(ctx, v, w.Match, arg)
			if err != nil {
				return nil, err
			}
			return then(perdure.WithHeads(ctx, heads))
		}
	}
	if w.Key == "" {
		out, err := do(ctx)
		if err != nil {
			return nil, err
		}
		return &wrote[T]{Body: plain[T]{out}}, nil
	}
	if s.Requests == nil {
		return nil, perdure.Invalid(errors.New("this server keeps no Idempotency-Keys; leave it out"))
	}
	asked, err := json.Marshal([]any{what, arg, body})
	if err != nil {
		return nil, err
	}
	answer, again, err := s.Requests.Once(ctx, s.Desk.Store, home.Keyed{
		Who: v.ID(), Key: w.Key, Print: sha256.Sum256(asked),
		Do: func(ctx context.Context) ([]byte, error) {
			out, err := do(ctx)
			if err != nil {
				return nil, err
			}
			return plain[T]{out}.MarshalJSON()
		},
		Done: func(ctx context.Context, id perdure.AgentID, entries []*perdure.Entry) ([]byte, error) {
			out, err := s.done(ctx, what, id, entries)
			if err != nil {
				return nil, err
			}
			return plain[T]{out}.MarshalJSON()
		},
	})
	if err != nil {
		return nil, err
	}
	out := &wrote[T]{Body: plain[T]{json.RawMessage(answer)}}
	if again {
		out.Replayed = "true"
	}
	return out, nil
}

// match is the heads of an agent, if they are as If-Match says.
func (s *Server) match(ctx context.Context, v *home.Visitor, list, arg string) ([]perdure.Hash, error) {
	id, err := s.Desk.Find(ctx, v, arg)
	if err != nil {
		return nil, err
	}
	heads, err := s.Desk.Store.Heads(ctx, id)
	if err != nil {
		return nil, err
	}
	if !matches(list, etag(heads)) {
		return nil, perdure.ErrMoved
	}
	return heads, nil
}

// done is the answer to a request whose entries are stored, and whose answer was lost with the process that served it.
func (s *Server) done(ctx context.Context, what string, id perdure.AgentID, entries []*perdure.Entry) (any, error) {
	if entries[0].Kind == perdure.KindGenesis {
		g, _ := entries[0].Content().(perdure.Genesis)
		if g.Lineage != nil && g.Lineage.Relation == perdure.Fork {
			return s.Desk.Home.Forked(ctx, s.Desk.Store, id, &g)
		}
		return client.Created{Agent: id, Name: g.Intent.Name}, nil
	}
	at := len(entries) - 1
	for at > 0 && entries[at].Kind != perdure.KindEvent { // a snapshot may follow
		at--
	}
	if what == tellsEvent {
		return client.Recorded{Agent: id, Entry: entries[at].Name, Seq: entries[at].Seq}, nil
	}
	return s.Desk.Home.Told(ctx, s.Desk.Store, entries[at]), nil
}

// notModified reports whether who asks has this version already.
func notModified(have, tag string) bool {
	return have != "" && matches(strings.ReplaceAll(have, "W/", ""), tag)
}
