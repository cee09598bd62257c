package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
)

// Passed is an agent that is passed on, by its whole id.
type Passed struct {
	Agent string `path:"agent" minLength:"64" maxLength:"64" doc:"its whole id"`
}

func (p *Passed) id() (id perdure.AgentID, err error) {
	if err := id.UnmarshalText([]byte(p.Agent)); err != nil {
		return id, perdure.Invalid(err)
	}
	return id, nil
}

// passing adds what passes agents between servers.
func (s *Server) passing() {
	entries := map[string]*huma.MediaType{client.EntriesType: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}
	operation(s, get("/v1/exchange/{agent}", "offer-agent", "exchange", "Say what there is of an agent"),
		home.VerbRead, s.offer)
	lacking := post("/v1/exchange/{agent}/missing", "send-missing", "exchange",
		"Send the entries that a place with this offer lacks")
	lacking.Description = "Entries come one after the other, parents before children. A connection that breaks ends " +
		"them: what came whole may be kept, and named as partial in the next offer."
	lacking.Responses = map[string]*huma.Response{"200": {Description: "Entries.", Content: entries}}
	operation(s, lacking, home.VerbExport, s.missing)
	take := post("/v1/exchange/{agent}/entries", "take-entries", "exchange", "Take entries of an agent in")
	take.Description = "They are checked as an import is, and added all or none. The answer is a receipt that the " +
		"key of the server's home has signed. What came whole before a connection broke is kept for a day: the offer " +
		"names it as partial."
	take.Errors = []int{http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
	take.RequestBody = &huma.RequestBody{Required: true, Content: entries}
	take.Middlewares = huma.Middlewares{withRequest}
	operation(s, take, home.VerbImport, s.takeEntries)
	operation(s, get("/v1/exchange", "list-changes", "exchange", "Say which agents have changed since a position"),
		home.VerbRead, s.changes)
}

// offer says what there is of an agent, also of one that is not here, by its whole id.
func (s *Server) offer(ctx context.Context, v *home.Visitor, in *Named) (*reply[exchange.Offer], error) {
	id, err := (&Passed{in.Agent}).id()
	if err != nil {
		id, err = s.Desk.Find(ctx, v, in.Agent)
	}
	if err != nil {
		return nil, err
	}
	o, err := home.Local{Desk: s.Desk, Visitor: v}.Offer(ctx, id)
	if o.Heads == nil {
		o.Heads = []perdure.Hash{}
	}
	return replied[exchange.Offer](o, err)
}

// arrivalOf is what a transfer of an agent by a sender is called: there is one at a time.
func arrivalOf(id perdure.AgentID, v *home.Visitor) string { return id.String() + " " + v.ID() }

func (s *Server) missing(ctx context.Context, v *home.Visitor, in *struct {
	Passed
	Body exchange.Offer
}) (*huma.StreamResponse, error) {
	id, err := in.id()
	if err == nil && in.Body.Agent != id {
		err = perdure.Invalid(errors.New("the offer is about another agent than the path"))
	}
	if err == nil {
		err = in.Body.Check()
	}
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		out := &begun{w: w, kind: client.EntriesType, c: http.NewResponseController(w), stall: s.Limits.WriteStall}
		err := perdure.WriteMemory(out, home.Local{Desk: s.Desk, Visitor: v}.Missing(r.Context(), in.Body))
		switch {
		case err == nil && out.n == 0:
			_, err = out.Write(nil) // the headers
		case err == nil:
		case out.n == 0:
			s.fail(w, r, err)
			return
		default: // whoever reads must not take it for the end
			s.Log.Warn("send entries", "agent", id.Short(), "err", err)
			panic(http.ErrAbortHandler)
		}
		if err != nil {
			s.Log.Warn("send entries", "agent", id.Short(), "err", err)
		}
	}}, nil
}

func (s *Server) takeEntries(ctx context.Context, v *home.Visitor, in *struct {
	Passed
	Challenge string `query:"challenge" maxLength:"64" doc:"signed with the receipt, so that it can be no older one"`
}) (*reply[exchange.Receipt], error) {
	id, err := in.id()
	here := home.Local{Desk: s.Desk, Visitor: v}
	if err == nil && in.Challenge != "" {
		if here.Challenge, err = perdure.ParseHash(in.Challenge); err != nil {
			err = perdure.Invalid(fmt.Errorf("challenge: %w", err))
		}
	}
	if err != nil {
		return nil, err
	}
	x, ok := ctx.Value(requestKey{}).(raw)
	if !ok {
		return nil, errors.New("take entries: the request is not there")
	}
	defer s.answering(x.w)
	body := http.MaxBytesReader(x.w, x.r.Body, s.Limits.Capsule)
	patient := s.patiently(x.w, body)
	defer s.arrivals.begin(ctx, arrivalOf(id, v), patient)()
	here.At = s.reached(x.r)
	r, err := here.Take(ctx, id, perdure.ReadMemory(patient, perdure.Limits{}))
	if err != nil {
		x.refuse() // of what is refused no more is read
		return nil, err
	}
	return replied[exchange.Receipt](r, nil)
}

func (s *Server) changes(ctx context.Context, v *home.Visitor, in *struct {
	After string `query:"after" maxLength:"2048" doc:"the position of the last answer; none: all agents"`
	Scope string `query:"scope" maxLength:"400" doc:"only those in this scope or below"`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"how many agents at most"`
}) (*reply[exchange.Changes], error) {
	c, err := home.Local{Desk: s.Desk, Visitor: v}.Changes(ctx, in.After, in.Scope, in.Limit)
	return replied[exchange.Changes](c, err)
}
