package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// operationOf is an operation that is being put together.
type operationOf struct{ huma.Operation }

// about adds what is about the server itself.
func (s *Server) about() {
	operation(s, s.costly(get("/v1/nodes", "list-nodes", "server", "Show what runs agents here")), home.VerbRead,
		s.nodes)
	operation(s, get("/v1/whoami", "show-who", "server", "Show who you are here, and what you may"), "", s.whoami)
	health := get("/v1/health", "show-health", "server", "Whether the server answers")
	health.Security = []map[string][]string{{}}
	operation(s, health, "", func(context.Context, *home.Visitor, *struct{}) (*reply[client.Health], error) {
		return replied[client.Health](client.Health{Status: "ok", Version: versionOr(s.Version)}, nil)
	})
	ready := get("/v1/ready", "show-ready", "server",
		"Whether the server can do its work: its store can be read, its home written")
	ready.Security, ready.Errors = health.Security, []int{http.StatusServiceUnavailable}
	operation(s, ready, "", s.ready)
}

type nodesIn struct {
	Known bool   `query:"known" doc:"also the other nodes that the home knows of, as far as you may see them"`
	Agent string `query:"agent" maxLength:"200" doc:"with known: what each has of this agent"`
}

func (s *Server) nodes(ctx context.Context, v *home.Visitor, in *nodesIn) (*reply[client.Nodes], error) {
	n, err := s.itself(ctx)
	if err != nil || !in.Known {
		return replied[client.Nodes](client.Nodes{Nodes: []client.Node{n}}, err)
	}
	all, err := s.Desk.Nodes(ctx, v, in.Agent)
	if err != nil {
		return nil, err
	}
	return replied[client.Nodes](struct {
		Nodes []client.Node    `json:"nodes"`
		Known []home.KnownNode `json:"known"`
		Table [][]string       `json:"table"`
	}{[]client.Node{n}, all.Known, all.Table}, nil)
}

// itself is the node here.
func (s *Server) itself(ctx context.Context) (client.Node, error) {
	n := client.Node{Name: s.Desk.Node.Key.Name, Key: s.Desk.Node.Key.Key(), Version: versionOr(s.Version),
		Capable: *home.Capable(s.Desk.Node, false)}
	if s.Node != nil {
		var err error
		if n, err = s.Node(ctx); err != nil {
			return n, err
		}
	}
	if h, ok := s.Desk.Store.(perdure.Holder); ok {
		for one, err := range h.Held(ctx) {
			if err != nil {
				return n, err
			}
			if !one.Dead {
				n.Held++
			}
		}
	}
	return n, nil
}

func (s *Server) whoami(_ context.Context, v *home.Visitor, _ *struct{}) (*reply[client.Who], error) {
	out := client.Who{Name: v.Name, Key: v.Key, Person: v.Speaks, Scope: v.Scope, Verbs: v.Verbs}
	if v.Person != nil {
		out.Key = v.Person.Key()
	}
	if out.Verbs == nil {
		out.Verbs = home.Verbs
	}
	if v.Link != nil {
		out.Agent, out.Digest = v.Link.Agent.String(), v.Link.Digest.String()
	}
	return replied[client.Who](out, nil)
}

func (s *Server) ready(ctx context.Context, _ *home.Visitor, _ *struct{}) (*reply[client.Health], error) {
	for _, err := range s.Desk.Store.Due(ctx, perdure.Time(1).Go()) {
		if err != nil {
			return nil, &home.Error{Kind: home.KindUnavailable, Err: err}
		}
		break
	}
	if err := s.Desk.Home.Writable(); err != nil {
		return nil, &home.Error{Kind: home.KindUnavailable, Err: err}
	}
	return replied[client.Health](client.Health{Status: "ok", Version: versionOr(s.Version)}, nil)
}
