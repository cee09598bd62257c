package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// Server serves the agents of one store. Desk must be set, and nothing may be changed after Handler was called.
type Server struct {
	Desk *home.Desk
	// Requests remembers what was answered to an Idempotency-Key; nil: such requests are refused.
	Requests *home.Requests
	Version  string
	Log      *slog.Logger // nil: nothing is logged

	// Tools are the tools of the node and what policy says of them to an agent; nil: none are known.
	Tools func(ctx context.Context, a *perdure.Agent) ([]home.ToolUse, error)
	// Node is what runs here; nil: nothing does.
	Node func(ctx context.Context) (client.Node, error)

	// Open lets those in who say nothing of themselves, as the owner of the home: only for what listens on loopback, or
	// is for tests.
	Open bool
	// Hosts are the names it is reached by, besides those of this machine; Origins those of pages that may talk to it,
	// besides its own.
	Hosts, Origins []string
	// URL is where it is reached, for links; empty: as the request says.
	URL string

	// Webhooks answers what hooks sign; MCP, A2A, Card and Metrics are mounted where they are given.
	Webhooks               http.Handler
	MCP, A2A, Card, Metric http.Handler

	Limits Limits

	api    huma.API
	live   hub
	places places
	// As with the gates below: what strangers send keeps nobody from anything who is known.
	bodies, strange *bodies
	// what is being passed on to this place
	arrivals arrivals
	// Those who are known are let by one gate and all others by another: however many strangers come, they make nobody
	// forgotten who is known.
	visitors, strangers gate

	once sync.Once
	all  http.Handler
}

// Limits bound what one server takes on. Zero fields are the defaults.
type Limits struct {
	Body       int64         // bytes of a request; default 4 MiB
	Capsule    int64         // bytes of an import; default 1 GiB
	Rate       float64       // requests per second of one visitor; default 1,000
	Burst      int           // at once; default 2,000
	Streams    int           // tails at once; default 10,000
	Heartbeat  time.Duration // of a tail that has nothing to say; default 15 s
	WriteStall time.Duration // how long a reader may take nothing; default 30 s
	ReadStall  time.Duration // how long a sender may send nothing; default 30 s
}

func (l Limits) or() Limits {
	set := func(to *int64, v int64) {
		if *to == 0 {
			*to = v
		}
	}
	set(&l.Body, 4<<20)
	set(&l.Capsule, 1<<30)
	if l.Rate == 0 {
		l.Rate = 1000
	}
	if l.Burst == 0 {
		l.Burst = 2000
	}
	if l.Streams == 0 {
		l.Streams = 10_000
	}
	if l.Heartbeat == 0 {
		l.Heartbeat = 15 * time.Second
	}
	if l.WriteStall == 0 {
		l.WriteStall = 30 * time.Second
	}
	if l.ReadStall == 0 {
		l.ReadStall = 30 * time.Second
	}
	return l
}

// Handler serves until ctx ends; after that, streams end too.
func (s *Server) Handler(ctx context.Context) http.Handler {
	s.once.Do(func() {
		if s.Log == nil {
			s.Log = slog.New(slog.DiscardHandler)
		}
		s.Limits = s.Limits.or()
		s.live.begin(ctx, s.Desk.Store, s.Limits.Streams)
		s.places, s.bodies, s.strange = newPlaces(), newBodies(maxBodies), newBodies(maxStrange)
		s.all = s.guarded(s.routes())
	})
	return s.all
}

// OpenAPI is the description of the API, as /openapi.json has it. Nothing need be set for it.
func (s *Server) OpenAPI() ([]byte, error) {
	if s.api == nil {
		s.register(http.NewServeMux())
	}
	return s.api.OpenAPI().MarshalJSON()
}

// routes mounts everything.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	s.register(mux)
	s.docs(mux)
	mount := func(pattern, verb string, h http.Handler) {
		if h != nil {
			mux.Handle(pattern, s.requiring(verb, h))
		}
	}
	if s.MCP != nil {
		mount("/mcp", home.VerbMCP, s.MCP)
	}
	mount("POST /a2a", home.VerbA2A, s.A2A)
	mount("GET /metrics", home.VerbMetrics, s.Metric)
	if s.Card != nil {
		mux.Handle("GET /.well-known/agent-card.json", s.Card)
	}
	if s.Webhooks != nil {
		mux.Handle("POST /webhook/resume/{agent}", s.Webhooks)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		hint := client.SeeDocs
		if before, _, ok := strings.Cut(r.URL.Path, "/v1/"); ok && before != "" {
			hint = "the API begins with /v1/: leave " + before + " out of the address, such as http://HOST:PORT"
		}
		p := s.problem(r.Context(), perdure.WithHint(perdure.Missing("there is no "+r.Method+" "+r.URL.Path+" here"),
			hint))
		if allow := allowed(mux, r); len(allow) > 0 {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			p.Status, p.Title = http.StatusMethodNotAllowed, http.StatusText(http.StatusMethodNotAllowed)
		}
		s.fail(w, r, p)
	})
	return mux
}

// allowed are the methods that a path is there for.
func allowed(mux *http.ServeMux, r *http.Request) (methods []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		as := r.Clone(r.Context())
		as.Method = method
		if _, pattern := mux.Handler(as); pattern != "" && pattern != "/" {
			methods = append(methods, method)
		}
	}
	return methods
}

// register adds the API.
func (s *Server) register(mux *http.ServeMux) {
	problems()
	c := huma.DefaultConfig("Perdure", versionOr(s.Version))
	c.Info.Description = "Durable AI agents: create them, look at them, tell them things, answer what they ask, " +
		"follow what they do. " +
		"A request says who asks with a token (perdure token new) in the header Authorization. An agent is named by " +
		"its name or by the beginning of its id; " +
		"where a point in its memory is wanted, AGENT@REF: a seq, a hash, a time or how long ago. Errors are " +
		"problems (RFC 9457)."
	c.DocsPath, c.SchemasPath, c.OpenAPIPath = "", "", "/openapi"
	c.CreateHooks = nil // no $schema in every answer
	c.Servers = []*huma.Server{{URL: "/", Description: "where this description is served"}}
	c.Formats = formats()
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "a token of perdure token new"},
	}
	c.Security = []map[string][]string{{"token": {}}}
	c.Tags = []*huma.Tag{
		{Name: "agents", Description: "Agents and their past."},
		{Name: "tell", Description: "What people and programs tell agents."},
		{
			Name:        "live",
			Description: "What happens, as it happens.",
		},
		{Name: "capsules", Description: "Agents as files."},
		{Name: "exchange", Description: "Agents passed between servers: what is new on each side, and nothing else."},
		{Name: "server", Description: "The server itself."},
	}
	s.api = humago.New(mux, c)
	s.reads()
	s.tells()
	s.votes()
	s.capsules()
	s.passing()
	s.streams()
	s.about()
	open(s.api.OpenAPI())
}

func versionOr(v string) string {
	if v == "" {
		return "devel"
	}
	return strings.TrimPrefix(v, "v")
}

// operation adds one operation: who asks must have the verb before anything of the request is read.
func operation[I, O any](
	s *Server,
	op huma.Operation,
	verb string,
	do func(ctx context.Context, v *home.Visitor, in *I) (*O, error),
) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = s.Limits.or().Body
	}
	op.BodyReadTimeout = s.Limits.or().ReadStall
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, http.StatusTooManyRequests)
	if op.Method == http.MethodPost { // what they have is read
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if verb != "" {
		op.Middlewares = append(op.Middlewares, s.may(verb))
	}
	op.Middlewares = append(op.Middlewares, s.known)
	if hasBody[I]() {
		op.Middlewares = append(op.Middlewares, s.roomy)
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		err := takePlace(ctx)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		out, err := do(ctx, visitorOf(ctx), in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

// may lets on who has one of some verbs.
func (s *Server) may(verbs ...string) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		v := visitorOf(ctx.Context())
		if slices.ContainsFunc(verbs, func(verb string) bool { return v.May(verb) == nil }) {
			next(ctx)
			return
		}
		r, w := humago.Unwrap(ctx)
		s.refuse(w, r, v.May(verbs[0]))
	}
}

// known refuses parameters that an operation does not have: a filter that is misspelt would let everything through.
func (s *Server) known(ctx huma.Context, next func(huma.Context)) {
	if u := ctx.URL(); u.RawQuery != "" {
		var names []string
		for _, p := range ctx.Operation().Parameters {
			if p.In == "query" {
				names = append(names, p.Name)
			}
		}
		for name := range u.Query() {
			if !slices.Contains(names, name) {
				s.answer(ctx, perdure.Invalid(fmt.Errorf("there is no parameter %q here; want some of: %s", cut(name),
					cmp.Or(strings.Join(names, ", "), "none"))))
				return
			}
		}
	}
	next(ctx)
}

func get(path, id, tag, summary string) huma.Operation {
	return huma.Operation{Method: http.MethodGet, Path: path, OperationID: id, Summary: summary, Tags: []string{tag}}
}

func post(path, id, tag, summary string) huma.Operation {
	return huma.Operation{
		Method:        http.MethodPost,
		Path:          path,
		OperationID:   id,
		Summary:       summary,
		Tags:          []string{tag},
		DefaultStatus: http.StatusOK,
	}
}
